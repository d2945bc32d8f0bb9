/** Annotations of builds, pipelines, projects and images, and the settings of the account. */
import { ANNOTATED_ENTITIES } from '@windlass/plan'
import { AccountSettings, AccountSettingsInput, Annotations, AnnotationsInput } from '@windlass/protocol'
import { z } from 'zod'
import { putAccountSettings, readAccountSettings } from '../account/settings.ts'
import { getAnnotated, putAnnotations, readAnnotations, removeAnnotations } from '../annotations/annotations.ts'
import type { App } from '../app.ts'
import { done, ok, route, type Route } from './route.ts'

const ByEntity = z.object({ entity: z.enum(ANNOTATED_ENTITIES), id: z.string().min(1).max(500) })
const ByAnnotation = ByEntity.extend({ name: z.string().min(1).max(200) })

export function annotationRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/annotations/{entity}/{id}', {
      summary: 'Show the annotations of a build, pipeline, project or image',
      allow: 'viewer',
      params: ByEntity,
      replies: { 200: Annotations },
      handle: async ({ params }) =>
        ok(await readAnnotations(app.store.query, await getAnnotated(app.store.query, app.accountId, params))),
    }),
    route('PUT', '/v1/annotations/{entity}/{id}', {
      summary: 'Set annotations; others stay',
      allow: 'user',
      params: ByEntity,
      body: AnnotationsInput,
      replies: { 200: Annotations },
      handle: async ({ params, body }) => ok(await putAnnotations(app, params, body)),
    }),
    route('DELETE', '/v1/annotations/{entity}/{id}/{name}', {
      summary: 'Remove an annotation',
      allow: 'user',
      params: ByAnnotation,
      replies: { 204: 'nothing' },
      async handle({ params: { name, ...named } }) {
        await removeAnnotations(app, named, [name])
        return done
      },
    }),
  ]
}

export function settingsRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/settings', {
      summary: 'Show the settings of the account',
      allow: 'viewer',
      replies: { 200: AccountSettings },
      handle: async () => ok(await readAccountSettings(app.store.query, app.accountId)),
    }),
    route('PUT', '/v1/settings', {
      summary: 'Replace the settings of the account; those left out have their defaults again',
      allow: 'admin',
      body: AccountSettingsInput,
      replies: { 200: AccountSettings },
      handle: async ({ body }) => ok(await putAccountSettings(app, body)),
    }),
  ]
}
