/** Finds the project and the pipeline of a call, for callers with a role only in some projects or for some pipelines. */
import type { App } from '../app.ts'
import { findImage } from '../store/pipelines/images.ts'
import { findPipeline } from '../store/pipelines/pipelines.ts'
import { findProject } from '../store/pipelines/projects.ts'
import { findBuild } from '../store/builds/builds.ts'
import { findCronTriggerByName } from '../store/triggers/cron-triggers.ts'
import { findEventTriggerByName } from '../store/triggers/event-triggers.ts'
import { findTriggerByName } from '../store/triggers/triggers.ts'
import { NO_PLACE, placeOf, type Place } from '../store/places.ts'

/**
 * How the project and the pipeline of a call are found: by the build (`{id}`), the pipeline (`{name}` or `{pipeline}`), the trigger, the
 * project (`{name}`, `{project}` or `{id}`), the image or the annotated entity in its path.
 * `handler`: the handler checks the right itself, lists only what the caller may see, or shows what all projects share.
 */
export type ProjectSource =
  | 'build'
  | 'pipeline'
  | 'trigger'
  | 'cron-trigger'
  | 'event-trigger'
  | 'project'
  | 'image'
  | 'annotated'
  | 'handler'

type Params = Readonly<Record<string, string | undefined>>

/** Returns the place of what is called; undefined if the resource does not exist. */
export async function findPlaceOf(
  app: App,
  source: Exclude<ProjectSource, 'handler'>,
  params: Params,
): Promise<Place | undefined> {
  const { query } = app.store
  const { id = '', name = '', project = name || id, pipeline = name } = params
  switch (source) {
    case 'build':
      return placeOfBuild(app, id)
    case 'pipeline':
      return placeOfPipeline(app, pipeline)
    case 'trigger':
      return placeOfRow(await findTriggerByName(query, app.accountId, name))
    case 'cron-trigger':
      return placeOfRow(await findCronTriggerByName(query, app.accountId, name))
    case 'event-trigger':
      return placeOfRow(await findEventTriggerByName(query, app.accountId, name))
    case 'project':
      return placeOfProject(app, project)
    case 'image': {
      const image = await findImage(query, app.accountId, id)
      return image === undefined ? undefined : placeOfBuild(app, image.build_id)
    }
    case 'annotated':
      return placeOfAnnotated(app, params)
  }
}

function placeOfRow(row: Parameters<typeof placeOf>[0] | undefined): Place | undefined {
  return row === undefined ? undefined : placeOf(row)
}

/** Returns the place of a build; undefined if it does not exist. */
export async function placeOfBuild(app: App, id: string): Promise<Place | undefined> {
  return placeOfRow(await findBuild(app.store.query, app.accountId, id))
}

/** Returns the place of a project by name or id; undefined if it does not exist. */
async function placeOfProject(app: App, name: string): Promise<Place | undefined> {
  const project = await findProject(app.store.query, app.accountId, name)
  return project === undefined ? undefined : { project: project.id, pipeline: null }
}

/** Returns the place of a pipeline by name or id, also of one that does not exist yet; undefined if its project does not exist. */
async function placeOfPipeline(app: App, name: string): Promise<Place | undefined> {
  const found = await findPipeline(app.store.query, app.accountId, name)
  if (found !== undefined) return { project: found.project_id, pipeline: found.id }
  const slash = name.lastIndexOf('/')
  return slash <= 0 ? NO_PLACE : placeOfProject(app, name.slice(0, slash))
}

/** Returns the place of an annotated entity; undefined if it does not exist. */
export async function placeOfAnnotated(app: App, { entity = '', id = '' }: Params): Promise<Place | undefined> {
  switch (entity) {
    case 'build':
    case 'image':
    case 'pipeline':
      return findPlaceOf(app, entity, { id, name: id })
    case 'project':
      return findPlaceOf(app, 'project', { name: id })
    default:
      return undefined
  }
}
