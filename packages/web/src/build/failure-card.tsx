/** Why a build failed: the step to blame, its last lines, what can be done, and the buttons that do it. */
import { useQuery } from '@tanstack/react-query'
import { advise, describeStep, formatUsage } from '@windlass/plan'
import type { Build, BuildStep } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { formatClock } from '../looks/time.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { queries } from '../server/queries.ts'
import { paths } from '../url/paths.ts'
import styles from './build.module.css'
import { useRestart } from './restart.ts'
import { visibleText } from '@windlass/ansi'

const LINES = 10

export function FailureCard({ build, step }: { readonly build: Build; readonly step: BuildStep }): ReactElement {
  const restart = useRestart(build)
  const facts = [step.try > 1 ? `try ${step.try}` : '', durationOf(step), formatUsage(step.usage)].filter((fact) => fact !== '')
  const advice = advise({ step })
  return (
    <section className={styles['failure']} aria-label="Why it failed">
      <h2>
        <bdi>{step.name}</bdi> <span>{facts.join(' · ')}</span>
      </h2>
      <p className={styles['cause']}>
        <bdi>{describeStep(step)}</bdi>
      </p>
      <LastLines build={build} step={step.name} />
      {advice.length > 0 && (
        <ul className={styles['advice']} aria-label="What can be done">
          {advice.map(({ text }) => (
            <li key={text}>
              <bdi>{text}</bdi>
            </li>
          ))}
        </ul>
      )}
      <div className={styles['buttons']}>
        <Button tone="primary" off={restart.off} isBusy={restart.isBusy} onClick={() => restart.run({ from: step.name })}>
          Restart from {step.name.length > 40 ? 'this step' : step.name}
        </Button>
        <Button off={restart.off} isBusy={restart.isBusy} onClick={() => restart.run({})}>
          Restart from the beginning
        </Button>
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

/** The last lines of a step, with their numbers, as links into the log. */
function LastLines({ build, step }: { readonly build: Build; readonly step: string }): ReactElement {
  const { data, error, isPending } = useQuery({ ...queries.lastLines(build.id, `step/${step}`, LINES), retry: false })
  if (isPending) return <div className={styles['lines']} aria-busy="true" data-empty="true" />
  if (data === undefined) return <p className="quiet">{error instanceof Error ? error.message : 'The step has no output.'}</p>
  const lines = data.text.replace(/\n$/, '').split('\n').map(visibleText)
  const width = { minWidth: `${String(data.from + lines.length).length + 1}ch` }
  return (
    <ol className={styles['lines']} aria-label={`Last lines of ${step}`} tabIndex={0}>
      {lines.map((line, index) => (
        <li key={index}>
          <a href={paths.step(build.id, step, { lines: [data.from + index + 1, data.from + index + 1] })} style={width}>
            {data.from + index + 1}
          </a>
          <bdi>{line === '' ? ' ' : line}</bdi>
        </li>
      ))}
    </ol>
  )
}
