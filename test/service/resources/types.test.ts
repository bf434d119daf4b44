import { expectTypeOf, test } from 'vitest';
import type { Answer, Service } from '../../../src/service/client.ts';
import type { SentMessage } from '../../../src/service/entities/sent.ts';

type First<F extends (...parameters: never[]) => unknown> = Parameters<F>[0];
type Messages = Service['messages'];
type Conversations = Service['conversations'];

test('a send has a text, attachments, or both', () => {
  const to = { from: '1', to: ['2'] };
  const picture = { filename: 'a.png', contentType: 'image/png', content: '' } as const;
  expectTypeOf<typeof to & { message: string }>().toExtend<First<Messages['send']>>();
  expectTypeOf<typeof to & { attachments: [typeof picture] }>().toExtend<First<Messages['send']>>();
  expectTypeOf<typeof to>().not.toExtend<First<Messages['send']>>();
  const other = { ...picture, contentType: 'image/webp' } as const;
  expectTypeOf<typeof to & { attachments: [typeof other] }>().not.toExtend<First<Messages['send']>>();
});

test('only a read can name a group', () => {
  type Group = { line: string; number: string; groupParticipants: string[] };
  expectTypeOf<Group>().toExtend<First<Conversations['read']>>();
  expectTypeOf<Group>().not.toExtend<First<Conversations['delete']>>();
  expectTypeOf<Group>().not.toExtend<First<Conversations['resolve']>>();
});

test('a call id is text, and an assignment names somebody or nobody', () => {
  expectTypeOf<First<Service['calls']['get']>>().toEqualTypeOf<string>();
  expectTypeOf<Parameters<Conversations['assign']>[1]>().toEqualTypeOf<number | null>();
});

test('what answers 204 has no data, and what may be absent says so', () => {
  expectTypeOf<ReturnType<Conversations['delete']>>().toEqualTypeOf<Promise<Answer<void>>>();
  expectTypeOf<SentMessage['id']>().toEqualTypeOf<number | string | undefined>();
  expectTypeOf<SentMessage['type']>().toExtend<string | undefined>();
});
