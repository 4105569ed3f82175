package httpapi

import "time"

func init() { readsAboutTimeout = time.Minute }
