import type { Figures } from './picture.ts';

/**
 * The figures of a picture as RFC 4180 has it: a header, then a line for each local day. An empty field means that there is
 * nothing to tell, which is not zero.
 */
export function csvOf({ columns, days }: Figures): string {
  const lines = [
    ['local_date', ...columns.map(({ key }) => key)],
    ...days.map(({ date, values }) => [date, ...values.map((value) => (value === null ? '' : String(value)))]),
  ];
  return lines.map((fields) => `${fields.join(',')}\r\n`).join('');
}
