import type { Endpoint, Line, User } from '../account.ts';
import { assumptions } from '../assumptions.ts';
import type { Random } from '../random.ts';
import { type Customer, inventCustomers } from './customers.ts';

/** A queue rings one agent after another, a huntgroup all at once. */
export interface Group {
  endpoint: Endpoint;
  members: User[];
}

/** The company as it stands: who works there, what rings, who calls. It follows from the seed and does not change. */
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

/** The account's own numbers: the fictional 555-01xx block of one area code that no customer has. */
const ownNumber = (ending: number) => `1646555${String(100 + ending).padStart(4, '0')}`;

export function inventDirectory(random: Random, customerCount: number): Directory {
  const users = people.map(([firstName, lastName, title], index) => inventUser(firstName, lastName, title, index));
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
    customers: inventCustomers(random, customerCount),
  };
}

function inventUser(firstName: string, lastName: string, title: string, index: number): User {
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
    timeZone: index === 7 ? 'America/Chicago' : assumptions.timeZone,
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

/** The legs of all calls share a user's endpoint: there are many of them. */
export function userEndpoint(user: User): Endpoint {
  let endpoint = endpoints.get(user);
  if (endpoint === undefined) {
    const { id: userId, extension, extensions } = user;
    endpoint = { type: 'user', name: fullName(user), number: extensions[0] ?? extension, userId };
    endpoints.set(user, endpoint);
  }
  return endpoint;
}
