/**
 * Where images come from, in `/v1`: the commit, pull request, issues and build or workflow of an image (docs/development/adr/0157-image-reports.md).
 *
 * POST /v1/image-reports               ImageReportInput: a workflow in the cluster of a GitOps runtime, with the token of the runtime, or a CI job, with an API key
 * GET  /v1/image-reports               page(ImageReport), newest first
 * GET  /v1/image-reports/{id}          ImageReport
 * GET  /v1/applications/{id}/images    page(ApplicationImage): the images of an application, each with its newest report
 *
 * The server itself reports what builds push.
 */
import { z } from 'zod'
import { Id, PageQuery, Time } from '../base.ts'
import { GitopsRuntimeName } from '../runtime/gitops.ts'

/** Limit of the body of a report. */
export const MAX_IMAGE_REPORT_BYTES = 131_072

/** Longest texts of a report, and the largest number of its issues. */
export const IMAGE_REPORT_MAX = {
  repo: 500,
  branch: 255,
  message: 1_000,
  author: 300,
  title: 500,
  status: 100,
  assignee: 300,
  workflow: 253,
  platform: 100,
  url: 2_000,
  issues: 50,
} as const

/** Text of one line. PostgreSQL stores no NUL. */
const Line = (max: number): z.ZodString =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^\P{Cc}+$/u, 'must not have control characters')
/** Pages link to it. */
const WebAddress = z
  .string()
  .max(IMAGE_REPORT_MAX.url)
  .regex(/^https?:\/\/[^\s\p{Cc}]+$/u, 'must begin with http:// or https://')

/**
 * Returns the first line of a text of another service, without control characters, as a report takes it; undefined for an empty one. Half a character would take six bytes of JSON,
 * so that a report could be too long.
 */
export function toReportLine(text: string | null | undefined, max: number): string | undefined {
  const line = (text?.trim().split('\n')[0] ?? '').replaceAll(/\p{Cc}/gu, ' ').trim()
  return line === '' ? undefined : line.slice(0, max).toWellFormed()
}

/** Returns the address of a page; undefined for a text that a report does not take as one. */
export function toWebAddress(text: string | undefined): string | undefined {
  return WebAddress.safeParse(text).data
}

/** Returns the hash of a commit; undefined for a text that a report does not take as one. */
export function toCommitHash(text: string | null | undefined): string | undefined {
  return Commit.safeParse(text).data
}

const DOCKER_HUB = 'docker.io'
/** A host, or a part of the path of a repository. */
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9a-f:]{2,45}\])(?::\d{1,5})?$/
const PART = /^[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*$/
const TAG = /^\w[\w.-]{0,127}$/
const DIGEST = /^sha256:[0-9a-f]{64}$/
const MAX_NAME = 400

/** What a reference such as `registry.example.com/acme/shop:v1` names. */
export interface ImageReference {
  /** With its registry: `docker.io/library/node` for `node`. */
  readonly name: string
  readonly tag?: string | undefined
  readonly digest?: string | undefined
}

/** Returns undefined for a text that is not a reference of an image, with a digest that is not SHA-256 too. */
export function parseImageReference(text: string): ImageReference | undefined {
  const [before = '', digest, ...rest] = text.split('@')
  if (rest.length > 0 || text.length > MAX_NAME + 300 || (digest !== undefined && !DIGEST.test(digest))) return undefined
  const colon = before.lastIndexOf(':')
  const hasTag = colon > before.lastIndexOf('/')
  const tag = hasTag ? before.slice(colon + 1) : undefined
  const name = fullName(hasTag ? before.slice(0, colon) : before)
  if (name === undefined || (tag !== undefined && !TAG.test(tag))) return undefined
  return { name, ...(tag !== undefined && { tag }), ...(digest !== undefined && { digest }) }
}

function fullName(name: string): string | undefined {
  const [first = '', ...rest] = name.split('/')
  const hasHost = rest.length > 0 && (/[.:[]/.test(first) || first === 'localhost')
  const host = hasHost ? first.toLowerCase() : DOCKER_HUB
  const parts = hasHost ? rest : rest.length > 0 ? [first, ...rest] : ['library', first]
  const isHub = host === DOCKER_HUB || host === `index.${DOCKER_HUB}` || host === `registry-1.${DOCKER_HUB}`
  const path = isHub && parts.length === 1 ? ['library', ...parts] : parts
  const full = [isHub ? DOCKER_HUB : host, ...path].join('/')
  return HOST.test(host) && path.every((part) => PART.test(part)) && full.length <= MAX_NAME ? full : undefined
}

/** Name of a repository of images, without tag and digest. A short one is completed. */
const ImageName = z
  .string()
  .max(MAX_NAME)
  .refine((text) => isBare(parseImageReference(text)), 'must be the name of an image, without tag and digest')
  .overwrite((text) => parseImageReference(text)?.name ?? text)

function isBare(reference: ImageReference | undefined): boolean {
  return reference !== undefined && reference.tag === undefined && reference.digest === undefined
}

const Digest = z.string().regex(DIGEST, 'must be a digest: sha256: and 64 hexadecimal digits')
const Tag = z.string().regex(TAG, 'must be a tag')
const Commit = z.string().regex(/^[0-9a-f]{7,64}$/, 'must be the hash of a commit')

const IMAGE_PULL_STATES = ['open', 'merged', 'closed'] as const

/** The commit from which an image was built. */
export const ImageGit = z.object({
  /** URL of the repository, or OWNER/NAME. */
  repo: Line(IMAGE_REPORT_MAX.repo).optional(),
  commit: Commit.optional(),
  branch: Line(IMAGE_REPORT_MAX.branch).optional(),
  /** First line of the message. */
  message: Line(IMAGE_REPORT_MAX.message).optional(),
  author: Line(IMAGE_REPORT_MAX.author).optional(),
  /** Page of the commit. */
  url: WebAddress.optional(),
  pull: z
    .object({
      number: z.int().positive(),
      title: Line(IMAGE_REPORT_MAX.title).optional(),
      url: WebAddress.optional(),
      state: z.enum(IMAGE_PULL_STATES).optional(),
    })
    .optional(),
})
export type ImageGit = z.infer<typeof ImageGit>

/** An issue, such as one of Jira. */
export const ImageIssue = z.object({
  key: z.string().regex(/^[A-Z][A-Z0-9_]{0,30}-\d{1,10}$/, 'must be the key of an issue, such as SHOP-12'),
  title: Line(IMAGE_REPORT_MAX.title).optional(),
  status: Line(IMAGE_REPORT_MAX.status).optional(),
  assignee: Line(IMAGE_REPORT_MAX.assignee).optional(),
  url: WebAddress.optional(),
})
export type ImageIssue = z.infer<typeof ImageIssue>

/**
 * What is known of an image. Reports with the same image, digest and workflow are one: what a later one has replaces what was known, and the rest stays, so tasks of
 * a workflow report in any order and again. Without the image, the digest and the tags it has at most 16 KiB: the last issues are left out if they do not fit, and what is too long without
 * issues is refused.
 */
export const ImageReportInput = z.object({
  image: ImageName,
  digest: Digest,
  /** The workflow, build or job that reports. */
  workflow: z.object({ name: Line(IMAGE_REPORT_MAX.workflow), url: WebAddress.optional() }),
  tags: z.array(Tag).max(100).optional(),
  /** Bytes of its layers, compressed, of the first platform. */
  sizeBytes: z.int().nonnegative().optional(),
  /** Such as `linux/amd64`. */
  platforms: z.array(Line(IMAGE_REPORT_MAX.platform)).max(50).optional(),
  /** When it was built, as the image itself says. */
  builtAt: Time.optional(),
  git: ImageGit.optional(),
  issues: z.array(ImageIssue).max(IMAGE_REPORT_MAX.issues).optional(),
})
export type ImageReportInput = z.infer<typeof ImageReportInput>

export const ImageReport = ImageReportInput.extend({
  id: Id,
  /** The GitOps runtime that has reported it. */
  runtime: GitopsRuntimeName.optional(),
  /** The build that has pushed it. */
  build: Id.optional(),
  /** Owner of the API key that has reported it. */
  by: z.string().optional(),
  createdAt: Time,
  /** Last report of it. */
  reportedAt: Time,
})
export type ImageReport = z.infer<typeof ImageReport>

/** Reports of a page. Each can have 16 KiB of facts, and 100 tags. */
export const MAX_IMAGE_REPORTS_PAGE = 100

export const ImageReportQuery = PageQuery.extend({
  limit: z.coerce.number().int().min(1).max(MAX_IMAGE_REPORTS_PAGE).default(50),
  /** Name of an image, also with a tag or a digest. */
  image: z.string().min(1).max(800).optional(),
  /** Begin of the hash of a commit. */
  commit: z
    .string()
    .regex(/^[0-9a-f]{4,64}$/, 'must be the begin of the hash of a commit')
    .optional(),
})
export type ImageReportQuery = z.output<typeof ImageReportQuery>

/** An image of an application. */
export const ApplicationImage = z.object({
  /** As the application names it. */
  image: z.string(),
  /** Absent if nothing was reported of it. */
  report: ImageReport.optional(),
})
export type ApplicationImage = z.infer<typeof ApplicationImage>
