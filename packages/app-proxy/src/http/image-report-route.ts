/** The call with which CI jobs of the original report images. It has the path and the events of the original. */
import { Readable } from 'node:stream'
import { fault, type Clock } from '@windlass/kit'
import { RuntimeWorkflow } from '@windlass/protocol'
import { z } from 'zod'
import { followImageReport, readDataHeader, readImageJob } from '../workflows/image-report.ts'
import type { Workflows } from '../workflows/workflows.ts'
import { route, type Route } from './route.ts'
import { openShares, openSlots } from './slots.ts'

/** What reports images. */
export interface ImageReports {
  /** Name of the WorkflowTemplate in the namespace of the runtime. */
  readonly template: string
  readonly heartbeatMs: number
}

export interface ImageReportParts {
  /** Undefined if the runtime reports no images. */
  readonly reports: ImageReports | undefined
  /** Undefined if the runtime does not operate workflows. */
  readonly workflows: Workflows | undefined
  readonly routes: readonly Route[]
  readonly clock: Clock
}

const SUBMIT = 'POST /workflow-templates/{name}/submit'
/** Jobs that wait for their report at the same time. */
const JOBS = { limit: 100, waiting: 50, of: 'reports of images' }
/** Those of one user. */
const JOBS_OF_USER = 10
const Variables = z.record(z.string().max(100), z.string().max(2_000))

/** Returns the route. It submits the workflow by another one of `routes`, with its right and its record in the audit log. */
export function imageReportRoute({ reports, workflows, routes, clock }: ImageReportParts): Route {
  const submit = routes.find(({ method, path }) => `${method} ${path}` === SUBMIT)
  const shares = openShares({ limit: JOBS_OF_USER, of: JOBS.of })
  return route('GET', '/image-report', {
    right: 'change-gitops',
    query: Variables,
    slots: openSlots(JOBS),
    async handle(call) {
      if (reports === undefined || workflows === undefined || submit === undefined)
        throw fault('not-supported', {
          message: 'The GitOps runtime has no workflow that reports images.',
          hint: 'Set `app-proxy.image-enrichment.enabled` of its chart, or report the image with `windlass gitops image report`.',
        })
      const data = call.header('cf_data')
      const job = readImageJob([...Object.entries(call.query), ...(data === undefined ? [] : readDataHeader(data))])
      const body = { parameters: job.parameters }
      const leave = shares.enter(call.caller.userId)
      try {
        const begun = await call.callRoute(submit, { params: { name: reports.template }, query: {}, body })
        const following = { workflows, clock, heartbeatMs: reports.heartbeatMs, signal: call.signal }
        return Readable.from(followImageReport(RuntimeWorkflow.parse(begun), job, following)).once('close', leave)
      } catch (error) {
        leave()
        throw error
      }
    },
  })
}
