/** Badges: the status of a pipeline as a small image for pages of others. */
import type { BuildStatus } from '@windlass/plan'
import type { App } from '../app.ts'
import { escapeHtml } from '../http/problem-page.ts'
import { findLatestStatus } from '../store/access/links.ts'
import { findPipeline } from '../store/pipelines/pipelines.ts'
import type { PipelineRow } from '../store/schema/schema.ts'
import { isPublic } from './is-public.ts'
import { openLink } from './links.ts'

interface Badge {
  readonly text: string
  readonly color: string
}

const BADGES: Readonly<Record<BuildStatus, Badge>> = {
  pending: { text: 'pending', color: '#6b7280' },
  delayed: { text: 'pending', color: '#6b7280' },
  elected: { text: 'running', color: '#1d64ad' },
  running: { text: 'running', color: '#1d64ad' },
  'pending-approval': { text: 'waiting for approval', color: '#8a5a00' },
  terminating: { text: 'terminating', color: '#6b7280' },
  success: { text: 'passing', color: '#2e7d32' },
  error: { text: 'failing', color: '#c0392b' },
  terminated: { text: 'terminated', color: '#6b7280' },
}
const NO_BUILDS: Badge = { text: 'no builds', color: '#6b7280' }
const UNKNOWN: Badge = { text: 'unknown', color: '#6b7280' }

export interface BadgeRequest {
  readonly pipeline: string
  readonly branch: string | undefined
  /** Secret of a link to the badge. */
  readonly token: string | undefined
}

export interface BadgeImage {
  readonly isFound: boolean
  readonly svg: string
}

/** Returns the badge. A pipeline that does not exist looks like one that is not public. */
export async function readBadge(app: App, { pipeline: name, branch, token }: BadgeRequest): Promise<BadgeImage> {
  const { query } = app.store
  const pipeline = await findPipeline(query, app.accountId, name)
  if (pipeline === undefined || !(await mayBeSeen(app, pipeline, token))) return { isFound: false, svg: drawBadge(UNKNOWN) }
  const status = await findLatestStatus(query, { accountId: app.accountId, pipelineId: pipeline.id, branch })
  return { isFound: true, svg: drawBadge(status === undefined ? NO_BUILDS : BADGES[status]) }
}

async function mayBeSeen(app: App, pipeline: PipelineRow, token: string | undefined): Promise<boolean> {
  if (isPublic(pipeline)) return true
  const link = token === undefined ? undefined : await openLink(app, token)
  return link?.kind === 'badge' && link.pipeline_id === pipeline.id
}

const LABEL = 'build'
const LABEL_COLOR = '#3f4650'
const HEIGHT = 20
const PADDING = 6
/** Width of a character of the font, on average. Texts are stretched to the computed width. */
const CHARACTER = 6.6

function drawBadge({ text, color }: Badge): string {
  const [left, right] = [LABEL, text].map((part) => Math.ceil(part.length * CHARACTER) + 2 * PADDING) as [number, number]
  const part = (value: string, x: number, width: number): string =>
    `<text x="${x + PADDING}" y="14" textLength="${width - 2 * PADDING}" lengthAdjust="spacingAndGlyphs">${escapeHtml(value)}</text>`
  const name = escapeHtml(`${LABEL}: ${text}`)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="${HEIGHT}" role="img" aria-label="${name}">`,
    `<title>${name}</title>`,
    `<clipPath id="r"><rect width="${left + right}" height="${HEIGHT}" rx="3"/></clipPath>`,
    `<g clip-path="url(#r)"><rect width="${left}" height="${HEIGHT}" fill="${LABEL_COLOR}"/>`,
    `<rect x="${left}" width="${right}" height="${HEIGHT}" fill="${color}"/></g>`,
    `<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">`,
    part(LABEL, 0, left),
    part(text, left, right),
    '</g></svg>',
  ].join('')
}
