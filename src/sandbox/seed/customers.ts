import type { Random } from '../random.ts';

export interface Customer {
  number: string;
  /** Caller-ID name; carriers often know none better than these. */
  name: string;
  language: 'en' | 'es' | 'he' | 'ar';
}

const firstNames = [
  'ANA',
  'BORIS',
  'CHAYA',
  'DAVID',
  'ELENA',
  'FATIMA',
  'GEORGE',
  'HUGO',
  'IMANI',
  'JOEL',
  'KEIKO',
  'LUIS',
];
const lastNames = [
  'ROSEN',
  'GARCIA',
  'KHALIL',
  'SMITH',
  'PEREZ',
  'COHEN',
  'NGUYEN',
  'OBRIEN',
  'PATEL',
  'ROSSI',
  'WEISS',
];
const namelessCallers = ['WIRELESS CALLER', 'UNKNOWN', 'NEW YORK NY', ''];
const languages = ['en', 'es', 'he', 'ar'] as const;

/** All area codes but service codes and the one that holds the account's own numbers. */
const areaCodes = Array.from({ length: 800 }, (_, index) => 200 + index).filter(
  (code) => code % 100 !== 11 && code !== 646 && code !== 917 && code !== 555,
);

/** Most have a fictional North American 555-01xx number, a few one of the range that Britain reserves for drama. */
export function inventCustomers(random: Random, count: number): Customer[] {
  const shift = random.int(0, areaCodes.length - 1);
  return Array.from({ length: count }, (_, index) => {
    const name = random.chance(0.6)
      ? `${random.pick(lastNames)} ${random.pick(firstNames)}`
      : random.pick(namelessCallers);
    return {
      number: index % 29 === 28 ? britishNumber(index) : americanNumber(index, shift),
      name,
      language: languages[random.weighted([70, 14, 9, 7])] ?? 'en',
    };
  });
}

function americanNumber(index: number, shift: number): string {
  const area = areaCodes[(index * 37 + shift) % areaCodes.length];
  const ending = 100 + (Math.floor(index / areaCodes.length) % 100);
  return `1${area}5550${ending}`;
}

function britishNumber(index: number): string {
  return `447700900${String(Math.floor(index / 29) % 1000).padStart(3, '0')}`;
}
