/** Annotations: named values on builds, pipelines, projects and images, written by steps and by people. */
import { fault } from '@windlass/kit'
import type { AnnotatedEntity } from '@windlass/plan'
import { AnnotationValue, type Annotations, type AnnotationsInput, type EngineEvent } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { record, type BuildEdit } from '../builds/edit.ts'
import { deleteAnnotations, listAnnotations, saveAnnotation, setDisplayed, type Annotated } from '../store/annotations.ts'
import { findBuild } from '../store/builds.ts'
import { findImage, findImageOfStep } from '../store/images.ts'
import { findPipeline } from '../store/pipelines.ts'
import { findProject } from '../store/projects.ts'
import type { AnnotationRow } from '../store/schema.ts'
import type { Query, Tx } from '../store/store.ts'

export interface Change {
  readonly set: Readonly<Record<string, AnnotationValue>>
  readonly unset?: readonly string[] | undefined
  readonly display?: string | undefined
}

/** Most annotations of one thing. */
const MAX_ANNOTATIONS = 1000

/** Sets and removes; setting the same again changes nothing. Throws `request-invalid` when a thing would carry too many. */
export async function annotate(tx: Tx, on: Annotated, change: Change & { now: number }): Promise<void> {
  const { set, unset = [], display, now } = change
  const known = (await listAnnotations(tx.query, on)).map(({ name }) => name)
  if (new Set([...known, ...Object.keys(set)]).size > MAX_ANNOTATIONS)
    throw fault('request-invalid', { message: `A ${on.entity} has at most ${MAX_ANNOTATIONS} annotations.` })
  for (const [name, value] of Object.entries(set))
    await saveAnnotation(tx, { ...on, name, value: JSON.stringify(value), display: 0, updated_at: now })
  await deleteAnnotations(tx, on, unset)
  if (display !== undefined) await setDisplayed(tx, on, display)
}

/** The value of a stored annotation. */
export function valueOf(row: Pick<AnnotationRow, 'value'>): AnnotationValue {
  return AnnotationValue.parse(JSON.parse(row.value))
}

/** How texts on a command line or in a query may be stored: `85` may be a number or a text. */
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
    ...(display !== undefined && { display }),
  }
}

interface Named {
  readonly entity: AnnotatedEntity
  /** Name or id. */
  readonly id: string
}

/** What a name or id means; an image needs not be known. Undefined when there is no such thing. */
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

/** Throws `not-found`. */
export async function getAnnotated(query: Query, accountId: string, named: Named): Promise<Annotated> {
  const found = await findAnnotated(query, accountId, named)
  if (found === undefined) throw fault('not-found', { message: `There is no ${named.entity} ${named.id}.` })
  return found
}

/** Sets annotations on somebody's word. Throws `not-found`. */
export async function putAnnotations(
  app: App,
  named: Named,
  { values, display }: z.output<typeof AnnotationsInput>,
): Promise<Annotations> {
  return app.store.write(async (tx) => {
    const on = await getAnnotated(tx.query, app.accountId, named)
    await annotate(tx, on, { set: values, display, now: app.clock.now() })
    return readAnnotations(tx.query, on)
  })
}

/** Removes annotations; one that is not there is no mistake. Throws `not-found`. */
export async function removeAnnotations(app: App, named: Named, names: readonly string[]): Promise<void> {
  await app.store.write(async (tx) => {
    await deleteAnnotations(tx, await getAnnotated(tx.query, app.accountId, named), names)
  })
}

type Annotating = Extract<EngineEvent, { type: 'annotated' }>

/** A step of a build annotates. What cannot be written is told in the feed: the step has ended already. */
export async function applyAnnotated(edit: BuildEdit, event: Annotating): Promise<void> {
  const { tx, build, now } = edit
  const id =
    event.id ??
    { build: build.id, pipeline: build.pipeline_id, project: build.project_id, image: null }[event.entity] ??
    (event.entity === 'image' ? await findImageOfStep(tx.query, build.id, event.step) : null)
  const found = id === null ? undefined : await findAnnotated(tx.query, build.account_id, { entity: event.entity, id })
  if (found === undefined) {
    const message = `There is no ${event.entity}${id === null ? '' : ` ${id}`} to annotate.`
    return record(edit, { type: 'notice', data: { level: 'warning', step: event.step, message } })
  }
  const { set, unset, display } = event
  await annotate(tx, { ...found, kind: event.kind }, { set, unset, display, now })
}
