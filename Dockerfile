# An image with one file: the program. It runs as a user without rights, and keeps
# its data in /data.
#
#   docker build -t bloomery .
#   docker run -p 127.0.0.1:6379:6379 -e BLOOMERY_PASSWORD=secret -v bloomery:/data bloomery
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w ${VERSION:+-X main.version=v$VERSION}" -o /out/bloomery ./cmd/bloomery \
    && mkdir /out/data

FROM scratch
COPY --from=build /out/bloomery /bloomery
COPY --from=build --chown=65532:65532 --chmod=0700 /out/data /data
COPY LICENSE /LICENSE
USER 65532:65532
# Clients of other machines, the host included, are refused while there is no
# password: set BLOOMERY_PASSWORD.
ENV BLOOMERY_ADDR=0.0.0.0:6379 \
    BLOOMERY_HTTP=0.0.0.0:8379 \
    BLOOMERY_DIR=/data
VOLUME /data
EXPOSE 6379 8379
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5m --start-interval=1s \
    CMD ["/bloomery", "ping"]
ENTRYPOINT ["/bloomery"]
CMD ["serve"]
