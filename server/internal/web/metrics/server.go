package metrics

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bloomery/bloomery/server/internal/engine"
)

var buildInfo = desc("build_info", "The version of the server and of Go; the value is 1.", "version", "go_version")

// serverFigures are the metrics of the server as a whole.
var serverFigures = []figure{
	gauge("start_time_seconds", "When the server was started, in seconds since 1970.", func(f *engine.Figures) float64 { return seconds(f.Started) }),

	gauge("clients", "Connected clients.", func(f *engine.Figures) float64 { return float64(f.Clients) }),
	gauge("clients_limit", "How many clients may be connected.", func(f *engine.Figures) float64 { return float64(f.MaxClients) }),
	counter("connections_total", "Connections since the start.", func(f *engine.Figures) float64 { return float64(f.Accepted) }),
	counter("connections_refused_total", "Connections that were refused, because of their number or in protected mode.",
		func(f *engine.Figures) float64 { return float64(f.Rejected) }),
	counter("received_bytes_total", "Bytes received from clients.", func(f *engine.Figures) float64 { return float64(f.BytesIn) }),
	counter("sent_bytes_total", "Bytes sent to clients.", func(f *engine.Figures) float64 { return float64(f.BytesOut) }),

	gauge("memory_limit_bytes", "What data and clients may take: max-memory.", func(f *engine.Figures) float64 { return float64(f.Max) }),
	gauge("memory_used_bytes", "What data and clients take, of the limit.", func(f *engine.Figures) float64 { return float64(f.Used) }),
	gauge("memory_peak_bytes", "The most that data and clients took since the start.", func(f *engine.Figures) float64 { return float64(f.Peak) }),
	gauge("memory_data_bytes", "What names, filters and strings take.", func(f *engine.Figures) float64 { return float64(f.Data) }),
	gauge("memory_clients_bytes", "What clients have under way: queries, replies, transactions.",
		func(f *engine.Figures) float64 { return float64(f.ClientBytes) }),
	gauge("memory_mapped_bytes", "Large arrays of filters, which are outside of Go's heap.", func(f *engine.Figures) float64 { return float64(f.Mapped) }),

	gauge("keys", "Names of filters and strings.", func(f *engine.Figures) float64 { return float64(f.Names) }),
	gauge("keys_with_deadline", "Names that expire.", func(f *engine.Figures) float64 { return float64(f.Timed) }),
	counter("keys_expired_total", "Names that were removed because their deadline had passed.", func(f *engine.Figures) float64 { return float64(f.Expired) }),
	counter("keyspace_hits_total", "Names that reads have found.", func(f *engine.Figures) float64 { return float64(f.Hits) }),
	counter("keyspace_misses_total", "Names that reads have not found.", func(f *engine.Figures) float64 { return float64(f.Misses) }),

	gauge("persistence_enabled", "1 if data is kept on disk.", func(f *engine.Figures) float64 { return is(f.Kept) }),
	gauge("writes_refused", "1 while writes are refused, because the log cannot be written.",
		func(f *engine.Figures) float64 { return is(f.Refused != nil) }),
}

// diskFigures are the metrics of a server that keeps its data on disk.
var diskFigures = []figure{
	gauge("log_bytes", "Bytes of log that a start would replay.", func(f *engine.Figures) float64 { return float64(f.LogBytes) }),
	counter("log_written_bytes_total", "The position of the end of the log: all bytes ever logged.", func(f *engine.Figures) float64 { return float64(f.LogEnd) }),
	gauge("log_buffered_bytes", "Bytes of log that are not written yet.", func(f *engine.Figures) float64 { return float64(f.Buffered) }),
	gauge("log_behind_seconds", "The age of the oldest record that is not durable.", func(f *engine.Figures) float64 { return f.Behind.Seconds() }),
	counter("log_fsyncs_total", "Times the log was made durable.", func(f *engine.Figures) float64 { return float64(f.Syncs) }),
	gauge("log_last_fsync_timestamp_seconds", "When the log was last made durable, in seconds since 1970; 0 if it was not since the start.",
		func(f *engine.Figures) float64 { return seconds(f.Synced) }),
	counter("log_errors_total", "Writes and fsyncs of the log that failed, and its files that were removed by others.",
		func(f *engine.Figures) float64 { return float64(f.Failures) }),
	counter("snapshots_total", "Snapshots since the start.", func(f *engine.Figures) float64 { return float64(f.Snapshots) }),
	counter("snapshot_errors_total", "Snapshots that failed.", func(f *engine.Figures) float64 { return float64(f.Failed) }),
	gauge("snapshot_running", "1 while a snapshot is taken.", func(f *engine.Figures) float64 { return is(f.Saving) }),
	gauge("snapshot_last_success", "1 if the last snapshot succeeded, or there was none yet.", func(f *engine.Figures) float64 { return is(f.Err == nil) }),
	gauge("snapshot_last_timestamp_seconds", "When the last snapshot was taken, in seconds since 1970; the start of the server if there was none.",
		func(f *engine.Figures) float64 { return seconds(f.Saved) }),
	gauge("snapshot_last_duration_seconds", "How long the last snapshot took.", func(f *engine.Figures) float64 { return f.Took.Seconds() }),
}

// tlsFigures are the metrics of a server that has a certificate.
var tlsFigures = []figure{
	gauge("tls_certificate_expiry_timestamp_seconds", "When the certificate expires, in seconds since 1970.",
		func(f *engine.Figures) float64 { return seconds(f.CertificateExpires) }),
	counter("tls_handshake_errors_total", "Handshakes of clients that failed or took too long.", func(f *engine.Figures) float64 { return float64(f.Unshaken) }),
}

var fsyncMode = desc("log_fsync_mode", "When writes are durable: always, everysec or no; the value is 1.", "mode")

// serverCollector collects the figures of a server.
type serverCollector struct{ e *engine.Engine }

// Describe implements prometheus.Collector.
func (c *serverCollector) Describe(to chan<- *prometheus.Desc) {
	to <- buildInfo
	to <- fsyncMode
	for _, list := range [][]figure{serverFigures, diskFigures, tlsFigures} {
		for i := range list {
			to <- list[i].desc
		}
	}
}

// Collect implements prometheus.Collector.
func (c *serverCollector) Collect(to chan<- prometheus.Metric) {
	f := c.e.Figures()
	to <- prometheus.MustNewConstMetric(buildInfo, prometheus.GaugeValue, 1, valid(f.Version), runtime.Version())
	send(to, serverFigures, &f)
	if !f.CertificateExpires.IsZero() {
		send(to, tlsFigures, &f)
	}
	if f.Kept {
		send(to, diskFigures, &f)
		to <- prometheus.MustNewConstMetric(fsyncMode, prometheus.GaugeValue, 1, f.Mode)
	}
}

func send(to chan<- prometheus.Metric, list []figure, f *engine.Figures) {
	for i := range list {
		to <- prometheus.MustNewConstMetric(list[i].desc, list[i].kind, list[i].of(f))
	}
}
