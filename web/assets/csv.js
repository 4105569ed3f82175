// Tables as CSV (RFC 4180), for spreadsheets.

// A spreadsheet takes a text that begins so for a formula; agents wrote most of these texts.
const formula = /^[=+\-@\t\r]/;

function cell(value) {
  const text = String(value ?? ""), inert = formula.test(text) ? "'" + text : text;
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}

export const csv = (heads, rows) => [heads, ...rows].map(row => row.map(cell).join(",") + "\r\n").join("");

// download gives the person a text as a file.
export function download(name, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
