{{- define "bloomery.name" -}}
{{- if contains "bloomery" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-bloomery{{ end }}
{{- end }}

{{- define "bloomery.selector" -}}
app.kubernetes.io/name: bloomery
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "bloomery.labels" -}}
{{ include "bloomery.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "bloomery.auth" -}}
{{ default (printf "%s-auth" (include "bloomery.name" .)) .Values.auth.existingSecret }}
{{- end }}

{{- define "bloomery.secret" -}}
{{ default (printf "%s-cluster" (include "bloomery.name" .)) .Values.cluster.existingSecret }}
{{- end }}

{{- /* The addresses of all log nodes, in the order of their numbers. */ -}}
{{- define "bloomery.join" -}}
{{- $name := include "bloomery.name" . -}}
{{- $all := list -}}
{{- range $i := until (int .Values.nodes) -}}
{{- $all = append $all (printf "%s-%d.%s-nodes.%s.svc.%s:6380" $name $i $name $.Release.Namespace $.Values.cluster.domain) -}}
{{- end -}}
{{- join "," $all -}}
{{- end }}
