/** Notifications about builds, and the mail server. */
import {
  MailServer,
  MailServerInput,
  Notification,
  NotificationChange,
  NotificationCreated,
  NotificationInput,
  NotificationQuery,
  NotificationTest,
  page,
} from '@windlass/protocol'
import { route } from '../route.ts'

export const notifications = {
  /** Lists the personal notifications of the caller and those of visible pipelines and projects, oldest first. */
  list: route('GET', '/v1/notifications', { query: NotificationQuery, answer: page(Notification) }),
  /** Creates a notification. Only this response contains the key of a webhook. */
  create: route('POST', '/v1/notifications', { body: NotificationInput, answer: NotificationCreated, isKeyed: true }),
  get: route('GET', '/v1/notifications/{name}', { answer: Notification }),
  change: route('PATCH', '/v1/notifications/{name}', { body: NotificationChange, answer: Notification }),
  delete: route('DELETE', '/v1/notifications/{name}', { answer: 'nothing' }),
  /** Sends a test message at once. */
  test: route('POST', '/v1/notifications/{name}/test', { answer: NotificationTest }),
}

export const mailServer = {
  get: route('GET', '/v1/mail-server', { answer: MailServer }),
  put: route('PUT', '/v1/mail-server', { body: MailServerInput, answer: MailServer }),
  delete: route('DELETE', '/v1/mail-server', { answer: 'nothing' }),
}
