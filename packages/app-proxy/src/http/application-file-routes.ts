/** Routes of applications as files in Git sources. */
import { ApplicationEdit, ApplicationFileQuery, ApplicationName, AppliedQuery, NewApplication } from '@windlass/protocol'
import { z } from 'zod'
import type { ApplicationFiles } from '../gitops/application-files.ts'
import type { AppliedApplications } from '../gitops/applied-applications.ts'
import { route, type Route } from './route.ts'
import type { Slots } from './slots.ts'

/** A manifest of the largest size, and what is around it. */
const MAX_BODY_BYTES = 1_048_576

export interface ApplicationFileParts {
  readonly applicationFiles: ApplicationFiles
  readonly applied: AppliedApplications
  /** Each change is a commit. */
  readonly slots: Slots
}

const ByName = z.object({ name: ApplicationName })

export function applicationFileRoutes({ applicationFiles, applied, slots }: ApplicationFileParts): Route[] {
  return [
    route('POST', '/applications', {
      right: 'change-gitops',
      isWrite: true,
      body: NewApplication,
      maxBodyBytes: MAX_BODY_BYTES,
      slots,
      handle: (call) => applicationFiles.create(call, call.body),
    }),
    route('GET', '/applications/{name}/file', {
      right: 'see-gitops',
      params: ByName,
      query: ApplicationFileQuery,
      handle: (call) => applicationFiles.show(call, call.params.name, call.query.gitSource),
    }),
    route('PUT', '/applications/{name}/file', {
      right: 'change-gitops',
      isWrite: true,
      params: ByName,
      body: ApplicationEdit,
      maxBodyBytes: MAX_BODY_BYTES,
      slots,
      handle: (call) => applicationFiles.edit(call, call.params.name, call.body),
    }),
    route('GET', '/applications/{name}/applied', {
      right: 'see-gitops',
      params: ByName,
      query: AppliedQuery,
      handle: (call) => applied.look(call, call.params.name, call.query),
    }),
  ]
}
