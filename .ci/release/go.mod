module github.com/holdpoint/holdpoint/ci/release

go 1.26

require github.com/CycloneDX/cyclonedx-go v0.12.0
