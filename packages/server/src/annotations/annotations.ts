/** Annotations: named values on builds, pipelines, projects and images, set by steps and users. */
import { defined, fault } from '@windlass/kit'
import type { AnnotatedEntity } from '@windlass/plan'
import { AnnotationValue, type Annotations, type AnnotationsInput, type EngineEvent } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import type { BuildEdit } from '../builds/lifecycle/edit.ts'
import { noteRefused } from '../builds/create/apply-content.ts'
import { PREDECESSOR } from '../identity/step-rights.ts'
import { deleteAnnotations, listAnnotations, saveAnnotation, setDisplayed, type Annotated } from '../store/builds/annotations.ts'
import { changedTopic, findBuild } from '../store/builds/builds.ts'
import { findImage, findImageOfStep } from '../store/pipelines/images.ts'
import { findPipeline } from '../store/pipelines/pipelines.ts'
import { findProject } from '../store/pipelines/projects.ts'
import type { AnnotationRow } from '../store/schema/schema.ts'
import type { Query, Tx } from '../store/store.ts'

export interface Change {
  readonly set: Readonly<Record<string, AnnotationValue>>
  readonly unset?: readonly string[] | undefined
  readonly display?: string | undefined
}

/** Maximum annotations of one entity. */
const MAX_ANNOTATIONS = 1000

/** Sets and removes annotations. Idempotent. Throws `request-invalid` if the entity would have too many. */
export async function annotate(tx: Tx, on: Annotated, change: Change & { now: number }): Promise<void> {
  const { set, unset = [], display, now } = change
  const known = (await listAnnotations(tx.query, on)).map(({ name }) => name)
  if (new Set([...known, ...Object.keys(set)]).size > MAX_ANNOTATIONS)
    throw fault('request-invalid', {
      message: `A ${on.entity} can have at most ${MAX_ANNOTATIONS} annotations.`,
      hint: 'Remove annotations that are not needed.',
    })
  for (const [name, value] of Object.entries(set))
    await saveAnnotation(tx, { ...on, name, value: JSON.stringify(value), display: 0, updated_at: now })
  await deleteAnnotations(tx, on, unset)
  if (display !== undefined) await setDisplayed(tx, on, display)
  if (on.entity === 'build') tx.wake(changedTopic(on.entity_id))
}

/** Returns the value of a stored annotation. */
export function valueOf(row: Pick<AnnotationRow, 'value'>): AnnotationValue {
  return AnnotationValue.parse(JSON.parse(row.value))
}

/** Returns the stored forms that a text on a command line or in a query can match: `85` may be a number or a string. */
export function storedForms(text: string): string[] {
  const forms = [JSON.stringify(text)]
  if (text === 'true' || text === 'false') forms.push(text)
  if (text.trim() !== '' && Number.isFinite(Number(text))) forms.push(JSON.stringify(Number(text)))
  return [...new Set(forms)]
}

export async function readAnnotations(query: Query, on: Annotated): Promise<Annotations> {
  const rows = await listAnnotations(query, on)
  const display = rows.find((row) => row.display === 1)?.name
  return {
    values: Object.fromEntries(rows.map((row) => [row.name, valueOf(row)])),
    ...defined({ display }),
  }
}

interface Named {
  readonly entity: AnnotatedEntity
  /** Name or id. */
  readonly id: string
}

/** Resolves a name or id; an image does not have to be stored. Undefined if the entity does not exist. */
async function findAnnotated(query: Query, accountId: string, { entity, id }: Named): Promise<Annotated | undefined> {
  const found = await findEntity(query, accountId, { entity, id })
  return found === undefined ? undefined : { account_id: accountId, entity, entity_id: found, kind: 'annotation' }
}

async function findEntity(query: Query, accountId: string, { entity, id }: Named): Promise<string | undefined> {
  switch (entity) {
    case 'build':
      return (await findBuild(query, accountId, id))?.id
    case 'pipeline':
      return (await findPipeline(query, accountId, id))?.id
    case 'project':
      return (await findProject(query, accountId, id))?.id
    case 'image':
      return (await findImage(query, accountId, id))?.image_id ?? id
  }
}

/** Resolves a name or id. Throws `not-found`. */
export async function getAnnotated(query: Query, accountId: string, named: Named): Promise<Annotated> {
  const found = await findAnnotated(query, accountId, named)
  if (found === undefined) throw fault('not-found', { message: `The ${named.entity} "${named.id}" does not exist.` })
  return found
}

/** Returns the first of these names that only the server may set. */
function reservedIn({ entity }: Pick<Named, 'entity'>, names: readonly string[]): string | undefined {
  return entity === 'build' ? names.find((name) => name === PREDECESSOR) : undefined
}

function requireNotReserved(named: Named, names: readonly string[]): void {
  const name = reservedIn(named, names)
  if (name === undefined) return
  throw fault('request-invalid', {
    message: `The annotation "${name}" records the parent build and cannot be changed.`,
    problems: [{ path: name, message: 'The server sets it when it creates the build.' }],
  })
}

/** Sets annotations for an API caller. Throws `not-found`, and `request-invalid` for a reserved name. */
export async function putAnnotations(
  app: App,
  named: Named,
  { values, display }: z.output<typeof AnnotationsInput>,
): Promise<Annotations> {
  requireNotReserved(named, Object.keys(values))
  return app.store.write(async (tx) => {
    const on = await getAnnotated(tx.query, app.accountId, named)
    await annotate(tx, on, { set: values, display, now: app.clock.now() })
    return readAnnotations(tx.query, on)
  })
}

/** Removes annotations; ignores those that do not exist. Throws `not-found`, and `request-invalid` for a reserved name. */
export async function removeAnnotations(app: App, named: Named, names: readonly string[]): Promise<void> {
  requireNotReserved(named, names)
  await app.store.write(async (tx) => {
    await deleteAnnotations(tx, await getAnnotated(tx.query, app.accountId, named), names)
  })
}

type Annotating = Extract<EngineEvent, { type: 'annotated' }>

/** Applies the annotations of a step. An unknown entity is reported in the feed, because the step has already ended. Throws the same faults as `annotate`. */
export async function applyAnnotated(edit: BuildEdit, event: Annotating): Promise<void> {
  const { tx, build, now } = edit
  const id =
    event.id ??
    { build: build.id, pipeline: build.pipeline_id, project: build.project_id, image: null }[event.entity] ??
    (event.entity === 'image' ? await findImageOfStep(tx.query, build.id, event.step) : null)
  const found = id === null ? undefined : await findAnnotated(tx.query, build.account_id, { entity: event.entity, id })
  if (found === undefined) {
    const message = `The ${event.entity}${id === null ? '' : ` "${id}"`} to annotate does not exist.`
    return noteRefused(edit, event.step, message)
  }
  const { set, unset, display, kind } = event
  const reserved = kind === 'annotation' ? reservedIn(event, [...Object.keys(set), ...unset]) : undefined
  if (reserved !== undefined) noteRefused(edit, event.step, `The annotation "${reserved}" of a build cannot be changed.`)
  const change = reserved === undefined ? { set, unset } : without({ set, unset }, reserved)
  await annotate(tx, { ...found, kind }, { ...change, display, now })
}

function without({ set, unset }: Pick<Annotating, 'set' | 'unset'>, reserved: string): Pick<Annotating, 'set' | 'unset'> {
  const { [reserved]: _reserved, ...rest } = set
  return { set: rest, unset: unset.filter((name) => name !== reserved) }
}
