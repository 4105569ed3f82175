# The service as one static binary in an image that has nothing else: no shell, no
# libraries, no user but one without rights. Its root may be read-only.
#
#   docker build -t holdpoint .
#   docker run --read-only -v holdpoint:/data -p 127.0.0.1:4000:4000 holdpoint
#
# Inside, it listens on every address, so it asks for tokens: see docs/deploy.md.

FROM golang:1.26-bookworm AS build
WORKDIR /src
# The modules are fetched before the sources are copied, so that a change of the
# sources does not fetch them again.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o /out/holdpoint ./cmd/holdpoint \
    && bash .ci/release/licences /out/licences \
    && mkdir /out/data && cp /etc/ssl/certs/ca-certificates.crt /out/ca-certificates.crt

FROM scratch
COPY --from=build /out/holdpoint /usr/local/bin/holdpoint
# Of holdpoint, of Go, and of each module in the program.
COPY --from=build /out/licences /licences
# For what the service calls: hooks, and Postgres with sslmode=verify-full.
COPY --from=build /out/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
# The default database is a file in the working directory. It belongs into a volume.
COPY --from=build --chown=65532:65532 /out/data /data
VOLUME /data
WORKDIR /data
USER 65532:65532
ENV HOLDPOINT_LISTEN=0.0.0.0:4000
EXPOSE 4000 9090
ENTRYPOINT ["/usr/local/bin/holdpoint"]
CMD ["serve", "--auth", "required"]
