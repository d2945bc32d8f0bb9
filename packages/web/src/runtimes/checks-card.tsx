/** What the checks of an agent found, each with its fix to copy, and a button that runs them again inside its clusters. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { plural } from '@windlass/plan'
import type { AgentChecks } from '@windlass/protocol'
import { CircleAlert, CircleCheck, CircleX } from 'lucide-react'
import type { ReactElement } from 'react'
import { diskQueries } from '../disks/queries.ts'
import { Button } from '../parts/button.tsx'
import { Command, CopyButton } from '../parts/copy.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { commandOf, sh } from '../parts/shell.ts'
import { When } from '../parts/when.tsx'
import { client } from '../server/client.ts'
import { queryClient } from '../server/query-client.ts'
import { useOff } from '../shell/use-off.ts'
import styles from './checks-card.module.css'

type Report = AgentChecks['reports'][number]
type Finding = Report['findings'][number]

/** Pause between two looks while the agent checks. Milliseconds. */
const POLL_MS = 2_000
const SOURCES = { agent: 'Checked by the agent', doctor: 'Checked by windlass doctor' } as const
const ICONS = { pass: CircleCheck, warn: CircleAlert, fail: CircleX } as const

export function ChecksCard({ agent }: { readonly agent: string }): ReactElement {
  const query = diskQueries.checks(agent)
  const checks = useQuery({
    ...query,
    refetchInterval: ({ state: { data } }) => (data?.request?.state === 'running' ? POLL_MS : false),
  })
  const off = useOff('manage-runners')
  const again = useMutation({
    mutationFn: () => client.agents.check(agent, { timeoutMs: 30_000 }),
    onSuccess: (data) => queryClient.setQueryData(query.queryKey, data),
  })
  const isRunning = again.isPending || checks.data?.request?.state === 'running'
  return (
    <section className={styles['card']} aria-label="Checks">
      <header className={styles['head']}>
        <h2>Checks</h2>
        <Button small off={off} isBusy={isRunning} onClick={() => again.mutate()}>
          {isRunning ? 'Checking' : 'Check again'}
        </Button>
      </header>
      {again.error !== null && <Problem error={again.error} />}
      {checks.isPending && <Loading rows={3} what="checks" />}
      {checks.data === undefined && checks.error !== null && (
        <Problem error={checks.error} onRetry={() => void checks.refetch()} />
      )}
      {checks.data !== undefined && <Reports checks={checks.data} isRunning={isRunning} />}
      <Command text={sh`windlass doctor --agent ${agent}`} />
    </section>
  )
}

function Reports({
  checks: { reports, request },
  isRunning,
}: {
  readonly checks: AgentChecks
  readonly isRunning: boolean
}): ReactElement {
  return (
    <>
      {request?.state === 'failed' && (
        <p className={styles['failed']} role="alert">
          <bdi>The last check failed: {request.message ?? 'the agent did not answer.'}</bdi>
        </p>
      )}
      {reports.length === 0 && !isRunning && (
        <p className="quiet">Nothing has been checked yet. Check again to run the checks in the cluster.</p>
      )}
      {reports
        .toSorted((one, other) => other.at - one.at)
        .map((report) => (
          <ReportPart key={report.source} report={report} />
        ))}
    </>
  )
}

function ReportPart({ report: { source, at, by, findings } }: { readonly report: Report }): ReactElement {
  const passed = findings.filter(({ status }) => status === 'pass')
  const others = findings
    .filter(({ status }) => status !== 'pass')
    .toSorted((one, other) => Number(other.status === 'fail') - Number(one.status === 'fail'))
  return (
    <div className={styles['report']}>
      <p className="quiet">
        {SOURCES[source]} <When at={at} /> for <bdi>{by}</bdi>
      </p>
      <ul className={styles['findings']}>
        {others.map((finding, index) => (
          <FindingItem key={index} finding={finding} />
        ))}
      </ul>
      {passed.length > 0 && (
        <details>
          <summary>{plural(passed.length, 'check')} passed</summary>
          <ul className={styles['findings']}>
            {passed.map((finding, index) => (
              <FindingItem key={index} finding={finding} />
            ))}
          </ul>
        </details>
      )}
    </div>
  )
}

function FindingItem({ finding: { check, status, message, hint, runtime } }: { readonly finding: Finding }): ReactElement {
  const Icon = ICONS[status]
  const fix = status === 'pass' ? undefined : hint
  const repair = fix && commandOf(fix)
  return (
    <li className={styles['finding']} data-status={status}>
      <Icon size={16} aria-label={{ pass: 'passed', warn: 'warning', fail: 'failed' }[status]} />
      <div className={styles['text']}>
        <bdi>
          <strong>{runtime === undefined ? check : `${check}, ${runtime}`}</strong> {message}
        </bdi>
        {fix !== undefined && (
          <div className={styles['fix']}>
            <bdi>{fix}</bdi>
            {repair !== undefined && <CopyButton text={repair} label="Copy the fix" />}
          </div>
        )}
      </div>
    </li>
  )
}
