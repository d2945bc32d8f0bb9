/** Why a build failed: the step to blame, its first problem or its last lines, what can be done, and the buttons that do it. */
import { useQuery } from '@tanstack/react-query'
import { advise, describeStep, formatUsage, plural } from '@windlass/plan'
import { stepStream, type Build, type BuildStep } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { useNewLines } from '../../log/use-new-lines.ts'
import { formatClock } from '../../looks/time.ts'
import { Button, ButtonLink } from '../../parts/button.tsx'
import { paths } from '../../url/paths.ts'
import styles from './card.module.css'
import { FailureLines } from './failure-lines.tsx'
import { buildQueries } from '../queries.ts'
import { useRestart } from '../restart.ts'

export function FailureCard({ build, step }: { readonly build: Build; readonly step: BuildStep }): ReactElement {
  const restart = useRestart(build)
  const facts = [step.try > 1 ? `try ${step.try}` : '', durationOf(step), formatUsage(step.usage)].filter((fact) => fact !== '')
  return (
    <section className={styles['failure']} aria-label="Why it failed">
      <h2>
        <bdi>{step.name}</bdi> <span>{facts.join(' · ')}</span>
      </h2>
      <p className={styles['cause']}>
        <bdi>{describeStep(step)}</bdi>
      </p>
      <FailureLines build={build} step={step.name} />
      <AdviceList build={build} step={step} />
      <div className={styles['buttons']}>
        <Button tone="primary" off={restart.off} isBusy={restart.isBusy} onClick={() => restart.run({ from: step.name })}>
          Restart from {step.name.length > 40 ? 'this step' : step.name}
        </Button>
        <Button off={restart.off} isBusy={restart.isBusy} onClick={() => restart.run({})}>
          Restart from the beginning
        </Button>
        <NewLinesLink build={build} step={step} />
        <Button
          off={restart.off}
          isBusy={restart.isBusy}
          onClick={() =>
            restart.run({ from: step.name, debug: { steps: { [step.name]: ['failure'] } } }, (id) =>
              paths.debug(id, { stop: step.name }),
            )
          }
        >
          Debug: run again and stop there
        </Button>
        <ButtonLink tone="quiet" href={paths.step(build.id, step.name)}>
          Open the step
        </ButtonLink>
      </div>
    </section>
  )
}

function durationOf({ startedAt, finishedAt }: BuildStep): string {
  return startedAt === undefined || finishedAt === undefined ? '' : formatClock(finishedAt - startedAt)
}

/** What can be done. Facts that only some reasons need are read for these. */
function AdviceList({ build, step }: { readonly build: Build; readonly step: BuildStep }): ReactElement | null {
  const { data: registries } = useQuery({ ...buildQueries.registries(), enabled: step.reason === 'image-not-found' })
  const { data: stats } = useQuery({
    ...buildQueries.stats(build.pipeline ?? '', build.branch),
    enabled: step.reason === 'timeout' && build.pipeline !== undefined,
  })
  const usualMs = stats?.steps.find((one) => one.step === step.name)?.p95Ms
  const advice = advise({ step, registries, usualMs })
  if (advice.length === 0) return null
  return (
    <ul className={styles['advice']} aria-label="What can be done">
      {advice.map(({ text }) => (
        <li key={text}>
          <bdi>{text}</bdi>
        </li>
      ))}
    </ul>
  )
}

/** Leads to the lines that the last successful build lacks. Absent if there is no such build, or no such line. */
function NewLinesLink({ build, step }: { readonly build: Build; readonly step: BuildStep }): ReactElement | null {
  const attempt = step.logs?.at(-1)?.attempt
  const name = { buildId: build.id, stream: stepStream(step.name), attempt: attempt ?? 1 }
  const data = useNewLines(name, { isWanted: attempt !== undefined })
  if (data === undefined || data.count === 0) return null
  return (
    <ButtonLink href={paths.step(build.id, step.name, { onlyNew: true })}>
      Only what is new: {plural(data.count, 'line')}
    </ButtonLink>
  )
}
