/** Sends notices to their receivers. */
import { isFinalBuild } from '@windlass/plan'
import { NOTICE_TYPES } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { callOut } from '../outbound/call.ts'
import type { Sent } from '../outbox/sender.ts'
import { listApprovals } from '../store/builds/approvals.ts'
import { findBuild } from '../store/builds/builds.ts'
import { findNotificationById, updateNotification } from '../store/notifications.ts'
import type { BuildRow, MessageRow, NotificationRow } from '../store/schema/schema.ts'
import { findOwner, mayKnow } from './audience.ts'
import { toSlackCall, toTeamsCall } from './channels/chat.ts'
import { sendMail } from './channels/mail.ts'
import { toWebhookCall } from './channels/webhook.ts'
import { composeNotice, type Notice } from './notice.ts'
import { openSecret } from './receiver.ts'
import type { Happening } from './rule.ts'

/** Body of a message of the kind `notification`. */
const NotificationBody = z.object({
  notification: z.string(),
  type: z.enum(NOTICE_TYPES).exclude(['test']),
  step: z.string().optional(),
  /** Recipient of a mail. */
  to: z.string().optional(),
})

const NOTHING_TO_SEND: Sent = { problem: null }
/** Answers of receivers are not used. */
const MAX_ANSWER_BYTES = 1_048_576

/** Sends a message of the kind `notification`, unless there is no need for it any more: see `isObsolete`. */
export async function sendNotification(app: App, message: MessageRow): Promise<Sent> {
  const { store, accountId, clock } = app
  const { notification, to, ...happening } = NotificationBody.parse(JSON.parse(message.body))
  const row = await findNotificationById(store.query, notification)
  const build = await findBuild(store.query, accountId, message.build_id ?? '')
  if (row === undefined || build === undefined || (await isObsolete(app, row, { build, happening }))) return NOTHING_TO_SEND
  const notice = await composeNotice(app, build, { happening, notification: row })
  const sent = await sendNotice(app, row, { notice, id: message.id, to })
  await store.write((tx) => updateNotification(tx, row.id, resultOf(sent, clock.now())))
  return sent
}

/** Returns what a notification shows of the last message. */
export function resultOf({ problem }: Sent, now: number): Pick<NotificationRow, 'problem'> & { sent_at?: number } {
  return { problem, ...(problem === null && { sent_at: now }) }
}

/** Returns true if the notification was disabled, its owner may not see the build any more, or the step does not wait any more. */
async function isObsolete(
  { store: { query } }: App,
  row: NotificationRow,
  { build, happening }: { readonly build: BuildRow; readonly happening: Happening },
): Promise<boolean> {
  if (row.disabled === 1) return true
  if (row.owner_id !== '') {
    const owner = await findOwner(query, row)
    if (owner === undefined || !mayKnow(owner, build, happening)) return true
  }
  if (happening.type !== 'build.waiting') return false
  const approval = (await listApprovals(query, build.id)).find(({ step }) => step === happening.step)
  return approval === undefined || approval.decision !== null || isFinalBuild(build.status)
}

export interface Sending {
  readonly notice: Notice
  /** Id of the message; the same for each try. */
  readonly id: string
  /** Recipient of a mail. */
  readonly to?: string | undefined
}

/** Sends a notice once. Throws only for bugs, and if the server closes. */
export async function sendNotice(app: App, row: NotificationRow, { notice, id, to }: Sending): Promise<Sent> {
  if (row.channel === 'mail')
    return to === undefined ? { problem: 'The notification has no such recipient.' } : sendMail(app, notice, { to, id })
  const { url, secret = '' } = openSecret(app.vault, row) ?? { url: '' }
  const parsed = URL.parse(url)
  if (parsed === null) return { problem: 'The notification has no URL.' }
  const call = {
    webhook: () => toWebhookCall(notice, { id, secret, now: app.clock.now() }),
    slack: () => toSlackCall(notice),
    teams: () => toTeamsCall(notice),
  }[row.channel]()
  const answer = await callOut(app, { url: parsed, ...call }, MAX_ANSWER_BYTES)
  if (answer.problem === undefined) return { problem: null }
  return { problem: answer.problem, mayRetry: answer.mayRetry, afterMs: answer.afterMs }
}
