import { z } from 'zod';

/** Section 2.8. */
export const userResource = z
  .object({
    id: z.int(),
    username: z.string().describe('Empty for a user without portal access.'),
    firstName: z.string(),
    lastName: z.string(),
    title: z.string(),
    email: z.string(),
    mobile: z.string().describe('Personal number; may be blank.'),
    company: z.string(),
    timeZone: z.string().describe('IANA zone.'),
    extension: z.string().describe('Dial-by-name extension.'),
    extensions: z.array(z.string()),
    lines: z.array(z.string()).describe('SIP lines.'),
    numbers: z.array(z.string()).describe('Account DIDs.'),
    voicemails: z.array(z.string()),
  })
  .meta({ id: 'User' });
