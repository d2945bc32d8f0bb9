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
import type { App } from '../../../app.ts'
import { putMailServer, removeMailServer, showMailServer } from '../../../notifications/mail-server.ts'
import {
  changeNotification,
  createNotification,
  listNotificationPage,
  removeNotification,
  showNotification,
  testNotification,
} from '../../../notifications/notifications.ts'
import { created, done, ok, route, type Answer, type Route } from '../../route.ts'
import { ByName } from '../pipelines/pipeline.ts'
import { NO_STORE } from '../access/session.ts'

/** The handlers check who may change a notification: its owner, or the callers with the right `change-notifications` for what it names. */
const ACCESS = { allow: 'see-builds', project: 'handler' } as const

export function notificationRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/notifications', {
      summary: 'List notifications: personal ones of the caller, and those of visible pipelines and projects',
      ...ACCESS,
      scope: 'notification:read',
      query: NotificationQuery,
      replies: { 200: page(Notification) },
      handle: async ({ query: { cursor: after, limit }, actor }) => ok(await listNotificationPage(app, { after, limit }, actor)),
    }),
    route('POST', '/v1/notifications', {
      summary: 'Create a notification; the response contains the key of a webhook, which is shown only once',
      ...ACCESS,
      scope: 'notification:write',
      body: NotificationInput,
      replies: { 201: NotificationCreated },
      async handle({ body, actor, settle }) {
        const answer = (notification: NotificationCreated): Answer =>
          created(notification, { ...NO_STORE, location: `/v1/notifications/${notification.id}` })
        return answer(await createNotification(app, { input: body, actor }, (tx, value) => settle(tx, answer(value))))
      },
    }),
    route('GET', '/v1/notifications/{name}', {
      summary: 'Show a notification, without its URL and key',
      ...ACCESS,
      scope: 'notification:read',
      params: ByName,
      replies: { 200: Notification },
      handle: async ({ params, actor }) => ok(await showNotification(app, params.name, actor)),
    }),
    route('PATCH', '/v1/notifications/{name}', {
      summary: 'Change what a notification reports',
      ...ACCESS,
      scope: 'notification:write',
      params: ByName,
      body: NotificationChange,
      replies: { 200: Notification },
      handle: async ({ params, body, actor }) => ok(await changeNotification(app, params.name, { change: body, actor })),
    }),
    route('DELETE', '/v1/notifications/{name}', {
      summary: 'Delete a notification',
      ...ACCESS,
      scope: 'notification:write',
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params, actor }) {
        await removeNotification(app, params.name, actor)
        return done
      },
    }),
    route('POST', '/v1/notifications/{name}/test', {
      summary: 'Send a test message to the receiver of a notification, at once',
      ...ACCESS,
      scope: 'notification:write',
      params: ByName,
      isHeld: true,
      replies: { 200: NotificationTest },
      handle: async ({ params, actor }) => ok(await testNotification(app, params.name, actor)),
    }),
    ...mailServerRoutes(app),
  ]
}

function mailServerRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/mail-server', {
      summary: 'Show the mail server, without its password',
      allow: 'manage-account',
      scope: 'account:read',
      replies: { 200: MailServer },
      handle: async () => ok(await showMailServer(app)),
    }),
    route('PUT', '/v1/mail-server', {
      summary: 'Set the mail server that sends notifications by mail',
      allow: 'manage-account',
      scope: 'account:write',
      body: MailServerInput,
      replies: { 200: MailServer },
      handle: async ({ body }) => ok(await putMailServer(app, body)),
    }),
    route('DELETE', '/v1/mail-server', {
      summary: 'Remove the mail server; mails that are not sent yet wait for another one',
      allow: 'manage-account',
      scope: 'account:write',
      replies: { 204: 'nothing' },
      async handle() {
        await removeMailServer(app)
        return done
      },
    }),
  ]
}
