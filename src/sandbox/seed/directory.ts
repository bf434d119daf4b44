import { accountTimeZone, type Endpoint, type Line, type Role, type User } from '../account.ts';
import type { Random } from '../random.ts';

export interface Customer {
  number: string;
  /** Caller-ID name, often a generic one of the carrier. */
  name: string;
  language: 'en' | 'es' | 'he' | 'ar';
}

const firstNames = 'ANA BORIS CHAYA DAVID ELENA FATIMA GEORGE HUGO IMANI JOEL KEIKO LUIS'.split(' ');
const lastNames = 'ROSEN GARCIA KHALIL SMITH PEREZ COHEN NGUYEN OBRIEN PATEL ROSSI WEISS'.split(' ');
const namelessCallers = ['WIRELESS CALLER', 'UNKNOWN', 'NEW YORK NY', ''];
const languages = ['en', 'es', 'he', 'ar'] as const;

/** All area codes except service codes and those of the account's own numbers. */
const areaCodes = Array.from({ length: 800 }, (_, index) => 200 + index).filter(
  (code) => code % 100 !== 11 && code !== 646 && code !== 917 && code !== 555,
);

/** Customers with fictional numbers: North American 555-01xx, and a few of the British range reserved for fiction. */
export function generateCustomers(random: Random, count: number): Customer[] {
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

/** A queue rings one agent after another, a huntgroup all at once. */
export interface Group {
  endpoint: Endpoint;
  members: User[];
}

/** The company: users, lines, groups and customers. It follows from the seed and doesn't change. */
export interface Directory {
  users: User[];
  lines: Line[];
  groups: Group[];
  ivr: Endpoint;
  mainNumber: string;
  customers: Customer[];
}

const company = 'Brightwater Plumbing & Heating';

const people = [
  ['Miriam', 'Adler', 'Front desk', 'Service'],
  ['Daniel', 'Okafor', 'Front desk', 'Front desk'],
  ['Sofia', 'Marquez', 'Dispatcher', 'Service'],
  ['Yossi', 'Benayoun', 'Dispatcher', 'Service'],
  ['Karen', 'Whitfield', 'Billing manager', 'Billing'],
  ['Tomasz', 'Nowak', 'Billing', 'Billing'],
  ['Layla', 'Haddad', 'Sales', 'Sales'],
  ['Grace', 'Lindqvist', 'Sales', 'Sales'],
  ['Marcus', 'Bell', 'Service manager', 'Service'],
  ['Priya', 'Raman', 'Sales manager', 'Sales'],
  ['Owen', 'Bell', 'Technician', 'Service'],
  ['Hannah', 'Stern', 'Front desk', 'Front desk'],
] as const;

const groups = [
  { name: 'Service', number: '601', type: 'queue' },
  { name: 'Billing', number: '602', type: 'queue' },
  { name: 'Sales', number: '603', type: 'queue' },
  { name: 'Front desk', number: '54344', type: 'huntgroup' },
] as const;

/** The account's own numbers: 555-01xx in an area code that no customer has. */
const ownNumber = (ending: number) => `1646555${String(100 + ending).padStart(4, '0')}`;

export function generateDirectory(random: Random, customerCount: number): Directory {
  const users = people.map(([firstName, lastName, title], index) => generateUser(firstName, lastName, title, index));
  const idsOf = (group: string) => users.filter((_, index) => people[index]?.[3] === group).map((user) => user.id);
  const lines: Line[] = [
    { number: ownNumber(0), name: 'Brightwater', userIds: [], bulkEnabled: true },
    { number: ownNumber(1), name: 'Brightwater Service', userIds: [], bulkEnabled: true },
    { number: ownNumber(2), name: 'Brightwater Billing', userIds: idsOf('Billing'), bulkEnabled: false },
    { number: ownNumber(3), name: '', userIds: [], bulkEnabled: false },
  ];
  return {
    users,
    lines,
    groups: groups.map((endpoint) => ({
      endpoint,
      members: users.filter((_, index) => people[index]?.[3] === endpoint.name),
    })),
    ivr: { type: 'ivr', name: 'Main menu', number: '73626' },
    mainNumber: ownNumber(0),
    customers: generateCustomers(random, customerCount),
  };
}

function generateUser(firstName: string, lastName: string, title: string, index: number): User {
  const extension = String(201 + index);
  const handle = `${firstName}.${lastName}`.toLowerCase();
  const isTechnician = title === 'Technician';
  return {
    id: 4100 + index * 7,
    username: isTechnician ? '' : handle,
    firstName,
    lastName,
    title,
    email: `${handle}@brightwater.example`,
    mobile: index % 3 === 0 ? `1917555${String(110 + index).padStart(4, '0')}` : '',
    company: index === 10 ? 'Brightwater Field Services' : company,
    timeZone: index === 7 ? 'America/Chicago' : accountTimeZone,
    extension,
    extensions: index === 0 ? [extension, '200'] : [extension],
    lines: [`${extension}-desk`, ...(index % 2 === 0 ? [`${extension}-app`] : [])],
    numbers: isTechnician ? [] : [ownNumber(10 + index)],
    voicemails: isTechnician ? [] : [extension],
  };
}

export function fullName(user: User): string {
  return `${user.firstName} ${user.lastName}`;
}

const endpoints = new WeakMap<User, Endpoint>();

/** The endpoint of a user, shared by all legs to save memory. */
export function userEndpoint(user: User): Endpoint {
  let endpoint = endpoints.get(user);
  if (endpoint === undefined) {
    const { id: userId, extension, extensions } = user;
    endpoint = { type: 'user', name: fullName(user), number: extensions[0] ?? extension, userId };
    endpoints.set(user, endpoint);
  }
  return endpoint;
}

/** The roles of users with portal access. */
export function rolesOf(users: readonly User[]): Role[] {
  return users
    .filter((user) => user.username !== '')
    .map(({ id, title }) => {
      const leads = title.endsWith('manager');
      const isFrontDesk = title === 'Front desk';
      return {
        userId: id,
        users: isFrontDesk ? null : leads ? 'all' : [],
        phoneNumbers: true,
        callReports: !isFrontDesk,
        allowRecordings: leads,
      };
    });
}
