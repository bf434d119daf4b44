import { afterAll, expect, test } from 'vitest';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
afterAll(() => facts[Symbol.asyncDispose]());
const nameOf = (shown: string | null) => facts.value('select reporting.person_name($1)', shown);

const noNames = `
  WIRELESS CALLER; Wireless Caller; UNKNOWN; Unknown Name; UNKNOWN CALLER; UNAVAILABLE; NAME UNAVAILABLE; ANONYMOUS; PRIVATE
  PRIVATE CALLER; Private Number; RESTRICTED; TOLL FREE CALL; TOLL-FREE; CALLER; NAME NOT AVAILABLE; Out of area; OUT-OF-AREA
  Spam Likely; SCAM LIKELY; Scam Likely?; Spam Risk; Potential Spam; CELL PHONE; No Caller ID; NO NAME; NOT PROVIDED; N/A; null
  Cellular Call; Numéro privé; Anonyme; DESCONOCIDO; Unbekannt; Telemarketer; V12345678901234; V 1234567; V412151234500001
  SEATTLE WA; NEW YORK NY; Seattle, WA; ST LOUIS MO; TORONTO ON; Ontario; CALIFORNIA; New York; British Columbia; 12125550123
  +1 (212) 555-0123; 212.555.0123; tel:+12125550123; sip:12125550123@example.com; 611; (212) 555 0123 ext 4; -; ?
  VERIZON WIRELESS; T-MOBILE; US CELLULAR; SPRINT PCS; METRO PCS; BOOST MOBILE; Google Voice; CONFERENCE CALL; TEXT`;
const names = `
  Pat Example; EXAMPLE PAT; O'BRIEN KIM; Kim Ma; Ma; LONG; Free; José; Łukasz; משה כהן; 李明; Иван; 1-800 Flowers; WIRELESS WORLD
  Private Dining Co; ACME & CO; Caller Smith; Toll Brothers; VIRGINIA SMITH; Denzel Washington; V Smith; Washington Dental
  ONTARIO PLUMBING; Victor 5; Dr. No; Unknown Pleasures Ltd; T; Metro; Cricket; Boost Fitness; US Steel; Kim T`;
const each = (text: string) =>
  text
    .split(/[;\n]/)
    .map((name) => name.trim())
    .filter(Boolean);

test.each([...each(noNames), '', '   ', null])('%s is no name', async (shown) => {
  expect(await nameOf(shown)).toBeNull();
});

test.each(each(names))('%s is one', async (shown) => {
  expect(await nameOf(shown)).toBe(shown);
});

test('a contact has the newest name that is one, and calls show none else', async () => {
  await facts.calls(`
    call_id | started_at | external_number | caller_name
    1.1     | 01:00      | 15550000007     | Pat Example
    1.2     | 02:00      | 15550000007     | WIRELESS CALLER`);
  await facts.drain();
  await facts
    .expectRows(`select contact_name from reporting.dim_contact where number = '15550000007'`)
    .toEqual(['Pat Example']);
  await facts.expectRows('select caller_name from reporting.fct_call order by call_id').toEqual(['Pat Example', '-']);
});
