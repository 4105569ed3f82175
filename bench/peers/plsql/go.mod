module github.com/holdpoint/holdpoint/bench/peers/plsql

go 1.26.0

require github.com/holdpoint/holdpoint v0.0.0

replace github.com/holdpoint/holdpoint => ../../..
