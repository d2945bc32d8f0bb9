/** Where a role counts: in a project, or for one pipeline. Limits queries to what a caller with roles only in some places may see. */
import { sql, type RawBuilder, type SqlBool } from 'kysely'

/** The place of a resource. A pipeline without a project, and a project itself, have only one of both. */
export interface Place {
  readonly project: string | null
  readonly pipeline: string | null
}

/** Place of what belongs to no project and no pipeline. Only roles for the installation count there. */
export const NO_PLACE: Place = { project: null, pipeline: null }

/** Ids of projects and pipelines. */
export interface Places {
  readonly projects: readonly string[]
  readonly pipelines: readonly string[]
}

/** Returns the place of a row, such as a build or a trigger. */
export function placeOf(row: { readonly project_id: string | null; readonly pipeline_id: string | null }): Place {
  return { project: row.project_id, pipeline: row.pipeline_id }
}

/** Returns true if the place is one of the places, or in one of them. Undefined are all places. */
export function isWithin(places: Places | undefined, { project, pipeline }: Place): boolean {
  if (places === undefined) return true
  return (project !== null && places.projects.includes(project)) || (pipeline !== null && places.pipelines.includes(pipeline))
}

/** Columns of the table of builds. */
export const BUILD_PLACE = { project: 'build.project_id', pipeline: 'build.pipeline_id' } as const

/** Returns the condition that a row is within the places, by its columns with the ids of the project and the pipeline. */
export function withinPlaces(
  places: Places,
  columns: { readonly project: string; readonly pipeline: string },
): RawBuilder<SqlBool> {
  const parts = (['project', 'pipeline'] as const).flatMap((kind) => {
    const ids = kind === 'project' ? places.projects : places.pipelines
    return ids.length === 0 ? [] : [sql`${sql.ref(columns[kind])} in (${sql.join([...ids])})`]
  })
  return parts.length === 0 ? sql<SqlBool>`1 = 0` : sql<SqlBool>`(${sql.join(parts, sql` or `)})`
}
