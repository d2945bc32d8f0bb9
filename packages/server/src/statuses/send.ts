/** Sends commit statuses to forges. A status that is sent twice is harmless. */
import type { App } from '../app.ts'
import { openAccess, setStatus, type ForgeProblem } from '../forges/ask.ts'
import type { MessageRow } from '../store/schema/schema.ts'
import { StatusMessage } from './report.ts'

/** Sends one commit status, with the token that its Git context has now. */
export async function sendCommitStatus(
  app: App,
  { body }: Pick<MessageRow, 'body'>,
): Promise<ForgeProblem | { readonly problem: null }> {
  const { forge, context, ...status } = StatusMessage.parse(JSON.parse(body))
  const access = await openAccess(app, { forge, context })
  if (access.problem !== undefined) return access
  const done = await setStatus(app, access.value, status)
  return done.problem === undefined ? { problem: null } : done
}
