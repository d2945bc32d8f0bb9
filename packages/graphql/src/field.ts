/** Fields at the root of a schema. Each does what one call of the REST API does. */
import { fault, type Problem } from '@windlass/kit'
import type { z } from 'zod'

/** Returns the value of a field. `call` is who calls, and what the field needs. */
export type Field<C> = (given: unknown, call: C) => Promise<unknown>
export type Fields<C> = Readonly<Record<string, Field<C>>>

/** Creates a field. The schema has checked the types of its arguments; `shape` checks the rest, such as lengths. */
export function field<A extends z.ZodType, C>(shape: A, resolve: (args: z.output<A>, call: C) => Promise<unknown>): Field<C> {
  return async (given, call) => {
    const parsed = shape.safeParse(given)
    if (parsed.success) return resolve(parsed.data, call)
    const problems = parsed.error.issues.map(({ path, message }): Problem => ({ path: path.join('.'), message }))
    const [first] = problems
    throw fault('request-invalid', { message: `${first?.path ?? ''}: ${first?.message ?? 'is not valid'}`, problems })
  }
}

/** Throws `request-invalid` for arguments that public clients may send and that have no effect here. `false` asks for nothing. */
export function refuseArguments(args: Readonly<Record<string, unknown>>, why: string): void {
  const given = Object.entries(args).filter(([, value]) => value !== undefined && value !== null && value !== false)
  const [first] = given
  if (first === undefined) return
  throw fault('request-invalid', { message: `The argument "${first[0]}" cannot be used: ${why}.`, hint: 'Leave it out.' })
}
