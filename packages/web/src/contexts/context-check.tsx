/** Whether a context can be used: the agent of a chosen runtime goes where it leads, with its login, and the last results stay. */
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query'
import { isIntegration, type Context, type ContextCheck } from '@windlass/protocol'
import { CircleAlert, CircleCheck, CircleX } from 'lucide-react'
import { useState, type ReactElement } from 'react'
import { formatClock } from '../looks/time.ts'
import { Button } from '../parts/button.tsx'
import { Select } from '../parts/forms/choice.tsx'
import { Command } from '../parts/copy.tsx'
import layout from '../parts/layout.module.css'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { When } from '../parts/when.tsx'
import { client } from '../server/client.ts'
import { queries } from '../server/queries.ts'
import { queryClient } from '../server/query-client.ts'
import { useSession, whyNot } from '../server/session.ts'
import { useAway } from '../shell/away-bar.tsx'
import styles from './contexts.module.css'

/** Pause between two looks while an agent checks. Milliseconds. */
const POLL_MS = 1_000
const OUTCOMES = {
  reached: { word: 'Works', icon: CircleCheck },
  refused: { word: 'Refused', icon: CircleX },
  unreachable: { word: 'Not reached', icon: CircleAlert },
} as const

function checksOf(name: string) {
  return queryOptions({
    queryKey: ['contexts', name, 'checks'],
    queryFn: ({ signal }) => client.contexts.checks(name, { signal }),
    refetchInterval: ({ state: { data } }) => (data?.items.some(({ state }) => state === 'running') === true ? POLL_MS : false),
  })
}

export function ContextChecks({ context }: { readonly context: Context }): ReactElement | null {
  return isIntegration(context.type) ? <Checks context={context} /> : null
}

function Checks({ context: { name, data } }: { readonly context: Context }): ReactElement {
  const only = data['resourceName'] !== undefined && data['runtime'] !== '*' ? data['runtime'] : undefined
  const runtimes = useQuery(queries.runtimes()).data?.items ?? []
  const [chosen, setChosen] = useState<string>()
  const query = checksOf(name)
  const checks = useQuery(query)
  const runtime = typeof only === 'string' ? only : (chosen ?? (runtimes.find(({ isDefault }) => isDefault) ?? runtimes[0])?.name)
  const run = useMutation({
    mutationFn: () => client.contexts.check(name, runtime === undefined ? {} : { runtime }, { timeoutMs: 30_000 }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: query.queryKey }),
  })
  const state = useSession()
  const off =
    useAway() ??
    whyNot(state.kind === 'in' ? state.session : undefined, 'change-contexts') ??
    (runtime === undefined ? 'There is no runtime whose agent could check.' : undefined)
  const items = checks.data?.items ?? []
  const isRunning = run.isPending || items.some((check) => check.runtime === runtime && check.state === 'running')
  return (
    <section aria-label="Check" className={layout['tight']}>
      <h2>Check</h2>
      {only === undefined && runtimes.length > 1 && runtime !== undefined && (
        <Select
          label="Runtime whose agent checks"
          options={runtimes.map((one) => ({ value: one.name, label: one.name }))}
          value={runtime}
          onChange={setChosen}
        />
      )}
      <div className={layout['buttons']}>
        <Button small off={off} isBusy={isRunning} onClick={() => run.mutate()}>
          {isRunning ? 'Checking' : 'Check the context'}
        </Button>
      </div>
      {run.error !== null && <Problem error={run.error} />}
      {checks.data === undefined && checks.error !== null && (
        <Problem error={checks.error} onRetry={() => void checks.refetch()} />
      )}
      <div role="status">
        {items.length > 0 && (
          <ul className={styles['checks']}>
            {items.map((check) => (
              <CheckItem key={check.runtime} check={check} />
            ))}
          </ul>
        )}
      </div>
      <Command
        text={
          runtime === undefined ? sh`windlass check context ${name}` : sh`windlass check context ${name} --runtime ${runtime}`
        }
      />
    </section>
  )
}

function CheckItem({ check: { runtime, agent, state, message, result } }: { readonly check: ContextCheck }): ReactElement {
  return (
    <li className={layout['tight']}>
      {state === 'failed' && (
        <p className={layout['warning']}>
          <bdi>
            The last check by {runtime} failed: {message ?? 'the agent did not answer.'}
          </bdi>
        </p>
      )}
      {state === 'running' && (
        <p className={layout['note']}>
          <bdi>
            The agent {agent} of {runtime} is checking.
          </bdi>
        </p>
      )}
      {result !== undefined && <Result runtime={runtime} agent={agent} result={result} />}
    </li>
  )
}

interface ResultProps {
  readonly runtime: string
  readonly agent: string
  readonly result: NonNullable<ContextCheck['result']>
}

function Result({ runtime, agent, result }: ResultProps): ReactElement {
  const { outcome, message, hint, at, tookMs, isOutdated } = result
  const { word, icon: Icon } = OUTCOMES[outcome]
  return (
    <div className={styles['check']} data-outcome={outcome}>
      <Icon size={16} aria-hidden />
      <div>
        <bdi>
          <strong>{word}.</strong> {message}
        </bdi>
        {hint !== undefined && (
          <p>
            <bdi>{hint}</bdi>
          </p>
        )}
        {isOutdated && <p>The context has changed since.</p>}
        <p>
          Checked by <bdi>{agent}</bdi> of <bdi>{runtime}</bdi> <When at={at} /> in {formatClock(tookMs)}.
        </p>
      </div>
    </div>
  )
}
