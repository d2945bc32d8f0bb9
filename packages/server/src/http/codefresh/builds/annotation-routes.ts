/** Annotations for public clients, which write one at a time and call builds workflows. */
import { sha256 } from '@windlass/kit'
import type { AnnotatedEntity } from '@windlass/plan'
import { AnnotationName, AnnotationValue, type Annotations, type Right } from '@windlass/protocol'
import { z } from 'zod'
import { getAnnotated, putAnnotations, readAnnotations, removeAnnotations } from '../../../annotations/annotations.ts'
import type { App } from '../../../app.ts'
import { hidden, placesOf, requireRight, type Actor } from '../../../identity/actor.ts'
import { placeOfAnnotated } from '../../../identity/place-of.ts'
import { done, ok, route, type Route } from '../../route.ts'

/** Name of the kind of entity for clients -> name for Windlass. */
const ENTITIES = { image: 'image', project: 'project', pipeline: 'pipeline', workflow: 'build', build: 'build' } as const
const EntityType = z.enum(['image', 'project', 'pipeline', 'workflow', 'build'])
const Entity = z.object({ entityId: z.string().min(1).max(500), entityType: EntityType })
type Entity = z.output<typeof Entity>

const PublicAnnotation = z.object({
  _id: z.string(),
  accountId: z.string(),
  entityId: z.string(),
  entityType: EntityType,
  key: z.string(),
  value: AnnotationValue,
  type: z.string(),
})

function toPublic(app: App, { entityId, entityType }: Entity, { values }: Annotations): z.output<typeof PublicAnnotation>[] {
  return Object.entries(values).map(([key, value]) => ({
    // Annotations have no id of their own.
    _id: sha256(JSON.stringify([entityType, entityId, key])).slice(0, 24),
    accountId: app.accountId,
    entityId,
    entityType,
    key,
    value,
    type: typeof value,
  }))
}

function namedOf({ entityId: id, entityType }: Entity): { id: string; entity: AnnotatedEntity } {
  return { id, entity: ENTITIES[entityType] }
}

interface Asked {
  readonly entity: Entity
  readonly right: Right
}

/** Throws unless the caller has the right for the entity. */
async function requireRole(app: App, actor: Actor, { entity, right }: Asked): Promise<void> {
  if (placesOf(actor, right) === undefined) return
  const place = await placeOfAnnotated(app, namedOf(entity))
  if (place === undefined) throw hidden()
  requireRight(actor, right, place)
}

export function publicAnnotationRoutes(app: App): Route[] {
  const read = async (entity: Entity): Promise<Annotations> =>
    readAnnotations(app.store.query, await getAnnotated(app.store.query, app.accountId, namedOf(entity)))
  return [
    route('GET', '/api/annotations', {
      summary: 'List the annotations of an entity',
      allow: 'see-builds',
      scope: 'build:read',
      project: 'handler',
      query: Entity,
      replies: { 200: z.array(PublicAnnotation) },
      async handle({ query, actor }) {
        await requireRole(app, actor, { entity: query, right: 'see-builds' })
        return ok(toPublic(app, query, await read(query)))
      },
    }),
    route('POST', '/api/annotations', {
      summary: 'Set an annotation and keep the others; `display` names the one that lists show',
      allow: 'annotate',
      scope: 'build:write',
      project: 'handler',
      body: Entity.extend({ key: AnnotationName, value: AnnotationValue.default(''), display: AnnotationName.optional() }),
      replies: { 200: PublicAnnotation },
      async handle({ body: { key, value, display, ...entity }, actor }) {
        await requireRole(app, actor, { entity, right: 'annotate' })
        const shown = display === key ? { display } : {}
        const all = await putAnnotations(app, namedOf(entity), { values: { [key]: value }, ...shown })
        return ok(toPublic(app, entity, all).find((one) => one.key === key))
      },
    }),
    route('DELETE', '/api/annotations', {
      summary: 'Remove an annotation, or all annotations of an entity',
      allow: 'annotate',
      scope: 'build:write',
      project: 'handler',
      query: Entity.extend({ key: z.string().max(200).optional() }),
      replies: { 204: 'nothing' },
      async handle({ query: { key, ...entity }, actor }) {
        await requireRole(app, actor, { entity, right: 'annotate' })
        const names = key === undefined ? Object.keys((await read(entity)).values) : [key]
        await removeAnnotations(app, namedOf(entity), names)
        return done
      },
    }),
  ]
}
