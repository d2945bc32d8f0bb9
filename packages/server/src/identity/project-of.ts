/** Finds the project of a call, for callers with a role only in some projects. */
import type { App } from '../app.ts'
import { findImage } from '../store/account/images.ts'
import { findPipeline } from '../store/account/pipelines.ts'
import { findProject } from '../store/account/projects.ts'
import { findBuild } from '../store/builds/builds.ts'
import { findCronTriggerByName } from '../store/triggers/cron-triggers.ts'
import { findEventTriggerByName } from '../store/triggers/event-triggers.ts'
import { findTriggerByName } from '../store/triggers/triggers.ts'

/**
 * How the project of a call is found: by the build (`{id}`), the pipeline, the trigger, the project (`{name}` or `{project}`), the image or the annotated entity in
 * its path.
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

/** Returns the id of the project; null for a resource without one, undefined if the resource does not exist. */
export async function findProjectOf(
  app: App,
  source: Exclude<ProjectSource, 'handler'>,
  params: Params,
): Promise<string | null | undefined> {
  const { id = '', name = '', project = name } = params
  switch (source) {
    case 'build':
      return projectOfBuild(app, id)
    case 'pipeline':
      return projectOfPipeline(app, name)
    case 'trigger':
      return (await findTriggerByName(app.store.query, app.accountId, name))?.project_id
    case 'cron-trigger':
      return (await findCronTriggerByName(app.store.query, app.accountId, name))?.project_id
    case 'event-trigger':
      return (await findEventTriggerByName(app.store.query, app.accountId, name))?.project_id
    case 'project':
      return (await findProject(app.store.query, app.accountId, project))?.id
    case 'image': {
      const image = await findImage(app.store.query, app.accountId, id)
      return image === undefined ? undefined : projectOfBuild(app, image.build_id)
    }
    case 'annotated':
      return projectOfAnnotated(app, params)
  }
}

export async function projectOfBuild(app: App, id: string): Promise<string | null | undefined> {
  return (await findBuild(app.store.query, app.accountId, id))?.project_id
}

/** Returns the project of a pipeline, also of one that does not exist yet. */
async function projectOfPipeline(app: App, name: string): Promise<string | null | undefined> {
  const { query } = app.store
  const pipeline = await findPipeline(query, app.accountId, name)
  if (pipeline !== undefined) return pipeline.project_id
  const slash = name.lastIndexOf('/')
  return slash <= 0 ? null : (await findProject(query, app.accountId, name.slice(0, slash)))?.id
}

async function projectOfAnnotated(app: App, { entity = '', id = '' }: Params): Promise<string | null | undefined> {
  switch (entity) {
    case 'build':
    case 'image':
    case 'pipeline':
      return findProjectOf(app, entity, { id, name: id })
    case 'project':
      return findProjectOf(app, 'project', { name: id })
    default:
      return undefined
  }
}
