/** Fields of requests that several routes have. */
import { IntegrationName } from '@windlass/protocol'
import { z } from 'zod'
import { isBranchName, problemOfPath } from '../commit/paths.ts'

export const ByName = z.object({ name: IntegrationName })

/** `owner/name`; owners of GitLab have several parts. */
export const RepoName = z
  .string()
  .max(300)
  .regex(/^[\w~.-][\w .~-]*(?:\/[\w.-][\w .-]*)+$/u, 'must have the form owner/name')
  .refine((repo) => repo.split('/').every((part) => part !== '.' && part !== '..'), 'must have the form owner/name')

/** A branch, a tag or a commit. */
export const Ref = z.string().refine(isBranchName, 'must be a branch, a tag or a commit')

/** A path in a repository. Empty for its root. */
export const RepoPath = z
  .string()
  .max(1_024)
  .transform((path) => path.replace(/^\/+|\/+$/g, ''))
  .refine((path) => path === '' || problemOfPath(path) === undefined, 'must be a path in the repository, without . and ..')

export const Cursor = z.string().max(1_000)
