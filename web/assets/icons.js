// Icons of 16 pixels, by kind. What they say is said in words as well.

import { html } from "./vendor/htm-preact-standalone-3.1.1.js";

const paths = {
  command: "M2 3.5h12v9H2zM4.5 6.5l2 1.75-2 1.75M8 10.5h3.5",
  edit: "M3 13l.6-2.8L10.8 3l2.2 2.2-7.2 7.2zM9.4 4.4l2.2 2.2",
  write: "M4 2h5.5L12.5 5v9h-8.5zM9.5 2v3h3M6 8.5h4.5M6 11h4.5",
  url: "M8 2a6 6 0 1 0 0 12A6 6 0 1 0 8 2zM2 8h12M8 2c2 1.8 2.6 3.8 2.6 6S10 12.2 8 14C6 12.2 5.4 10.2 5.4 8S6 3.8 8 2z",
  message: "M2 4h12v8.5H2zM2 4.5l6 4.5 6-4.5",
  money: "M2 4.5h12v7H2zM8 6.4a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 1 0 0-3.2M4.2 8h.1M11.7 8h.1",
  tool: "M9.7 2.6a3.4 3.4 0 0 0-3.6 4.7L2.4 11a1.4 1.4 0 0 0 2 2l3.700-3.700a3.400 3.400 0 0 0 4.700-3.600L10.800 7.700 8.900 7.100 8.300 5.200z",
  question: "M8 2a6 6 0 1 0 0 12A6 6 0 1 0 8 2zM6.2 6.300a1.800 1.800 0 1 1 2.700 1.600C8.300 8.300 8 8.600 8 9.300M8 11.300v.1",
  allowed: "M3 8.500l3.200 3.200L13 5",
  denied: "M4 4l8 8M12 4l-8 8",
  info: "M8 2a6 6 0 1 0 0 12A6 6 0 1 0 8 2zM8 7.300v3.700M8 5v.1",
  warn: "M8 2.300L14.300 13.200H1.700zM8 6.300v3.200M8 11.300v.1",
  danger: "M5.500 2h5L14 5.500v5L10.500 14h-5L2 10.500v-5zM8 5v3.700M8 11v.1",
  due: "M8 3a5.500 5.500 0 1 0 0 11A5.500 5.500 0 1 0 8 3zM8 5.500v3.200l2 1.300M6.500 1.500h3",
  search: "M7 2.500a4.500 4.500 0 1 0 0 9 4.500 4.500 0 1 0 0-9M10.300 10.300L14 14",
};

export const Icon = ({ name }) => html`<svg class=${"icon icon-" + name} width="16" height="16" viewBox="0 0 16 16" aria-hidden="true"><path d=${paths[name]} /></svg>`;
