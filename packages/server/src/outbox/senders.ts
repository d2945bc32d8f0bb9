/** How each kind of message is sent. */
import { fanOut } from '../notifications/fan-out.ts'
import { sendNotification } from '../notifications/send.ts'
import type { Senders } from './sender.ts'

export const SENDERS: Senders = { notice: fanOut, notification: sendNotification }
