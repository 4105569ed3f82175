# The service as one static binary, run by a user without rights.
#
#   docker build -t holdpoint .
#
# Inside, it listens on every address, and until tokens exist it refuses to do so
# unless it is told that this is meant: see docker-compose.yml.

FROM golang:1.26-bookworm AS build
WORKDIR /src
# The modules are fetched before the sources are copied, so that a change of the
# sources does not fetch them again.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o /out/holdpoint ./cmd/holdpoint \
    && mkdir /out/data

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/holdpoint /usr/local/bin/holdpoint
# The default database is a file in the working directory. It belongs into a volume.
COPY --from=build --chown=65532:65532 /out/data /data
VOLUME /data
WORKDIR /data
USER 65532:65532
ENV HOLDPOINT_LISTEN=0.0.0.0:4000
EXPOSE 4000
ENTRYPOINT ["/usr/local/bin/holdpoint"]
CMD ["serve"]
