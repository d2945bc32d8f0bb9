/** Calls that consist of several transactions. Each part of a call with an Idempotency-Key is carried out once, also if an earlier call ended halfway. */
import { sha256 } from '@windlass/kit'
import type { App } from '../../app.ts'
import type { Actor } from '../../identity/actor.ts'
import { beginRepeatable } from '../replies.ts'
import type { Answer, Call } from '../route.ts'

export interface Part {
  /** Idempotency-Key of the call. Undefined: the part is carried out each time. */
  readonly key: string | undefined
  /** Name of the part within the call. */
  readonly name: string
}

type Settle = Call<unknown, unknown, unknown>['settle']

/** Runs `work`, which must store its answer with `settle` in the transaction of its effect, or returns the answer of an earlier call with the key. */
export async function runPart(
  app: App,
  actor: Actor,
  { key, name }: Part,
  work: (settle: Settle) => Promise<Answer>,
): Promise<Answer> {
  if (key === undefined || actor.kind === 'nobody') return work(async () => undefined)
  const part = { key: `part:${sha256(JSON.stringify([key, name]))}`, method: 'PART', url: name, body: null }
  const repeatable = await beginRepeatable(app, actor, part)
  if (repeatable.earlier !== undefined) return repeatable.earlier
  try {
    return await work((tx, answer) => repeatable.settle(tx, answer))
  } catch (error) {
    return await repeatable.recover(error)
  } finally {
    repeatable.release()
  }
}
