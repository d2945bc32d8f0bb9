/** The preferences of the caller, and the views that all users share. */
import { page, Preferences, SharedView, StoredPreferences, ViewInput } from '@windlass/protocol'
import { z } from 'zod'
import { putPreferences, readPreferences } from '../../../account/preferences.ts'
import { changeView, createView, listViews, removeView } from '../../../account/views.ts'
import type { App } from '../../../app.ts'
import { nameOf } from '../../../identity/actor.ts'
import { etag } from '../../../pipelines/pipelines.ts'
import { created, done, ok, route, type Answer, type Route } from '../../route.ts'

const ByView = z.object({ view: z.string().min(1).max(100) })

export function viewRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/session/preferences', {
      summary: 'Show what the caller has set for the page: own views of builds and the default view',
      allow: 'signed-in',
      scope: 'none',
      replies: { 200: StoredPreferences },
      async handle({ actor }) {
        const stored = await readPreferences(app, actor)
        return ok(stored, { etag: etag(stored) })
      },
    }),
    route('PUT', '/v1/session/preferences', {
      summary: 'Replace what the caller has set for the page, at most 16 KiB; If-Match protects against concurrent changes',
      allow: 'signed-in',
      scope: 'key:write',
      unaudited: 'only the page of the caller changes',
      body: Preferences,
      replies: { 200: StoredPreferences },
      async handle({ body, actor, headers }) {
        const stored = await putPreferences(app, actor, { preferences: body, ifMatch: headers['if-match'] })
        return ok(stored, { etag: etag(stored) })
      },
    }),
    route('GET', '/v1/views', {
      summary: 'List the views of builds that all users share, by name',
      allow: 'signed-in',
      scope: 'build:read',
      replies: { 200: page(SharedView) },
      handle: async () => ok({ items: await listViews(app) }),
    }),
    route('POST', '/v1/views', {
      summary: 'Share a view of builds with all users',
      allow: 'share-views',
      scope: 'account:write',
      body: ViewInput,
      replies: { 201: SharedView },
      async handle({ body, actor, settle }) {
        const answer = (view: SharedView): Answer => created(view)
        return answer(await createView(app, { input: body, by: nameOf(actor) }, (tx, view) => settle(tx, answer(view))))
      },
    }),
    route('PUT', '/v1/views/{view}', {
      summary: 'Replace the name and the filter of a shared view',
      allow: 'share-views',
      scope: 'account:write',
      params: ByView,
      body: ViewInput,
      replies: { 200: SharedView },
      handle: async ({ params, body }) => ok(await changeView(app, params.view, body)),
    }),
    route('DELETE', '/v1/views/{view}', {
      summary: 'Delete a shared view',
      allow: 'share-views',
      scope: 'account:write',
      params: ByView,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removeView(app, params.view)
        return done
      },
    }),
  ]
}
