/** How each kind of message is sent. */
import { fanOut } from '../notifications/fan-out.ts'
import { sendNotification } from '../notifications/send.ts'
import { sendCommitStatus } from '../statuses/send.ts'
import type { Senders } from './sender.ts'

export const SENDERS: Senders = { 'commit-status': sendCommitStatus, notice: fanOut, notification: sendNotification }
