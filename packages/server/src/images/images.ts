/** Images that builds created, and which of them a later build may reuse. */
import { newId } from '@windlass/kit'
import type { EngineEvent, Image, KnownImage } from '@windlass/protocol'
import { z } from 'zod'
import { readAnnotations } from '../annotations/annotations.ts'
import type { BuildEdit } from '../builds/lifecycle/edit.ts'
import { present } from '../builds/lifecycle/view.ts'
import { reportBuilt } from '../gitops/images/report-built.ts'
import { listKnownImages, saveImage } from '../store/pipelines/images.ts'
import type { ImageRow } from '../store/schema/schema.ts'
import type { Query } from '../store/store.ts'

type Made = Extract<EngineEvent, { type: 'image' }>

/** Maximum images that an engine gets, in total and per step. */
const MAX_KNOWN = 200
const MAX_KNOWN_OF_STEP = 5

const Tags = z.array(z.string())

/** Stores an image that a step has built or pushed, and reports it with its commit if it was pushed. */
export async function recordImage(edit: BuildEdit, event: Made): Promise<void> {
  const { tx, build, now } = edit
  await saveImage(tx, {
    id: newId(now),
    account_id: build.account_id,
    build_id: build.id,
    pipeline_id: build.pipeline_id,
    step: event.step,
    image_id: event.imageId,
    name: event.name,
    tags: JSON.stringify(event.tags),
    digest: event.digest ?? null,
    content_hash: event.contentHash ?? null,
    pushed: event.pushed ? 1 : 0,
    cache_hits: event.cache?.hits ?? null,
    cache_misses: event.cache?.misses ?? null,
    size_bytes: event.sizeBytes ?? null,
    created_at: now,
  })
  await reportBuilt(edit, event)
}

/** Lists the newest images of each step of a pipeline, newest first. The engine may skip a build if one of them matches. */
export async function readKnownImages(query: Query, pipelineId: string | null): Promise<KnownImage[]> {
  if (pipelineId === null) return []
  const seen = new Map<string, number>()
  const rows = (await listKnownImages(query, pipelineId, MAX_KNOWN)).filter(({ step }) => {
    seen.set(step, (seen.get(step) ?? 0) + 1)
    return (seen.get(step) ?? 0) <= MAX_KNOWN_OF_STEP
  })
  return rows.map((row) => ({
    step: row.step,
    contentHash: row.content_hash ?? '',
    imageId: row.image_id,
    name: row.name,
    tags: Tags.parse(JSON.parse(row.tags)),
    ...present({ digest: row.digest ?? undefined }),
  }))
}

/** Converts an image for lists of the API. */
export function toImage(row: ImageRow): Image {
  return {
    id: row.id,
    buildId: row.build_id,
    step: row.step,
    imageId: row.image_id,
    name: row.name,
    tags: Tags.parse(JSON.parse(row.tags)),
    pushed: row.pushed === 1,
    createdAt: row.created_at,
    ...present({
      pipelineId: row.pipeline_id ?? undefined,
      digest: row.digest ?? undefined,
      sizeBytes: row.size_bytes ?? undefined,
      contentHash: row.content_hash ?? undefined,
      cache:
        row.cache_hits === null || row.cache_misses === null ? undefined : { hits: row.cache_hits, misses: row.cache_misses },
    }),
  }
}

/** Converts an image for the API, with its metadata and annotations. */
export async function describeImage(query: Query, row: ImageRow): Promise<Image> {
  const on = { account_id: row.account_id, entity: 'image', entity_id: row.image_id } as const
  const [metadata, annotations] = await Promise.all([
    readAnnotations(query, { ...on, kind: 'metadata' }),
    readAnnotations(query, { ...on, kind: 'annotation' }),
  ])
  return { ...toImage(row), metadata: metadata.values, annotations: annotations.values }
}
