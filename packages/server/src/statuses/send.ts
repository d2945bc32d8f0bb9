/** Sends commit statuses to forges. A status that is sent twice is harmless. */
import type { App } from '../app.ts'
import { openAccess, setStatus } from '../forges/ask.ts'
import type { Sent } from '../outbox/sender.ts'
import type { MessageRow } from '../store/schema/schema.ts'
import { sendByAppProxy } from './by-app-proxy.ts'
import { StatusMessage } from './report.ts'

/** Sends one commit status, with the token that its Git context has now, or through an app-proxy. */
export async function sendCommitStatus(app: App, { id, body }: Pick<MessageRow, 'id' | 'body'>): Promise<Sent> {
  const { forge, context, appProxy, ...status } = StatusMessage.parse(JSON.parse(body))
  if (appProxy !== undefined) return sendByAppProxy(app, { messageId: id, appProxy, status })
  if (context === undefined) return { problem: 'The webhook has no Git context.', mayRetry: false, afterMs: 0 }
  const access = await openAccess(app, { forge, context })
  if (access.problem !== undefined) return access
  const done = await setStatus(app, access.value, status)
  return done.problem === undefined ? { problem: null } : done
}
