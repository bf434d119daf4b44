import { z } from 'zod';

/** Section 2.1. */
export const lineResource = z
  .object({
    number: z.string().describe('Digits, in the exact form that `from` takes when sending.'),
    name: z.string().describe('Caller-ID name; empty if none.'),
    userIds: z.array(z.int()).describe('Users the line is assigned to; empty means all users.'),
    bulkEnabled: z.boolean().describe('Registered for 10DLC bulk traffic.'),
  })
  .meta({ id: 'Line' });
