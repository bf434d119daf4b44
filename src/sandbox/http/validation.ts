import type { z } from 'zod';
import { invalidRequest } from './errors.ts';

type Issue = z.core.$ZodIssue;

/** Parses a body or query; the first fault becomes a 400 that names its field (section 7). */
export function validate<Schema extends z.ZodType>(schema: Schema, value: unknown, where = 'body'): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw invalidRequest(issue === undefined ? `${where} is malformed` : describeIssue(issue, where));
}

function describeIssue(issue: Issue, where: string): string {
  const field = fieldName(issue.path);
  if (issue.code === 'unrecognized_keys') {
    const owner = field === '' ? `the ${where}` : field;
    return `unknown field ${issue.keys.map((key) => JSON.stringify(key)).join(', ')} in ${owner}`;
  }
  const subject = field === '' ? `the ${where}` : field;
  if (issue.code === 'invalid_value') {
    return `${subject} must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`;
  }
  if (issue.message.endsWith('received undefined')) return `${subject} is required`;
  return `${subject}: ${issue.message}`;
}

function fieldName(path: readonly PropertyKey[]): string {
  return path.reduce<string>((name, step) => {
    if (typeof step === 'number') return `${name}[${step}]`;
    return name === '' ? String(step) : `${name}.${String(step)}`;
  }, '');
}
