/** Stores what people may have to be told, in the transaction that changes the build. `fan-out.ts` finds out whom. */
import { hasNotifications } from '../store/notifications.ts'
import { putMessage } from '../store/messages.ts'
import type { BuildRow } from '../store/schema/schema.ts'
import type { Tx } from '../store/store.ts'

/**
 * Stores that a build has ended, or that its `step` waits for an approval. Costs one read if the account has no notifications. The message names no
 * receiver: finding them needs more reads than a transaction of a build should make.
 */
export async function queueNotice(
  tx: Tx,
  build: Pick<BuildRow, 'id' | 'account_id' | 'number'>,
  { now, step }: { readonly now: number; readonly step?: string },
): Promise<void> {
  if (!(await hasNotifications(tx.query, build.account_id))) return
  await putMessage(tx, {
    accountId: build.account_id,
    key: `notice:${build.id}:${step === undefined ? 'end' : `waiting:${step}`}`,
    kind: 'notice',
    buildId: build.id,
    subject: `notifications about build ${build.number}`,
    body: step === undefined ? {} : { step },
    now,
  })
}
