/** Annotations of builds, pipelines, projects and images. */
import { ANNOTATED_ENTITIES } from '@windlass/plan'
import { Annotations, AnnotationsInput } from '@windlass/protocol'
import { z } from 'zod'
import { getAnnotated, putAnnotations, readAnnotations, removeAnnotations } from '../../../annotations/annotations.ts'
import type { App } from '../../../app.ts'
import { done, ok, route, type Route } from '../../route.ts'

const ByEntity = z.object({ entity: z.enum(ANNOTATED_ENTITIES), id: z.string().min(1).max(500) })
const ByAnnotation = ByEntity.extend({ name: z.string().min(1).max(200) })

export function annotationRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/annotations/{entity}/{id}', {
      summary: 'Show the annotations of a build, pipeline, project or image',
      allow: 'see-builds',
      scope: 'build:read',
      project: 'annotated',
      params: ByEntity,
      replies: { 200: Annotations },
      handle: async ({ params }) =>
        ok(await readAnnotations(app.store.query, await getAnnotated(app.store.query, app.accountId, params))),
    }),
    route('PUT', '/v1/annotations/{entity}/{id}', {
      summary: 'Set annotations and keep the others',
      allow: 'annotate',
      scope: 'build:write',
      project: 'annotated',
      params: ByEntity,
      body: AnnotationsInput,
      replies: { 200: Annotations },
      handle: async ({ params, body }) => ok(await putAnnotations(app, params, body)),
    }),
    route('DELETE', '/v1/annotations/{entity}/{id}/{name}', {
      summary: 'Remove an annotation',
      allow: 'annotate',
      scope: 'build:write',
      project: 'annotated',
      params: ByAnnotation,
      replies: { 204: 'nothing' },
      async handle({ params: { name, ...named } }) {
        await removeAnnotations(app, named, [name])
        return done
      },
    }),
  ]
}
