/** What differs from the last successful build of the branch, or from another build. */
import { useQuery } from '@tanstack/react-query'
import { isFault } from '@windlass/kit/faults'
import { isLonger } from '@windlass/plan'
import type { Build, BuildComparison } from '@windlass/protocol'
import { useState, type FormEvent, type ReactElement } from 'react'
import { Link } from 'wouter'
import { lookOfBuild } from '../../looks/states.ts'
import { StatusMark } from '../../looks/status.tsx'
import { formatClock } from '../../looks/time.ts'
import { Button } from '../../parts/button.tsx'
import { Command } from '../../parts/copy.tsx'
import { Diff } from '../../parts/diff.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Field } from '../../parts/forms/field.tsx'
import { Loading } from '../../parts/loading.tsx'
import { Problem } from '../../parts/problem.tsx'
import { sh } from '../../parts/shell.ts'
import { Table } from '../../parts/table.tsx'
import { client } from '../../server/client.ts'
import { paths } from '../../url/paths.ts'
import { useParam } from '../../url/search.ts'
import { sentenceOf } from '../sentence.ts'
import styles from './compare.module.css'
import { buildQueries } from '../queries.ts'

type Change = BuildComparison['steps'][number]

export function CompareTab({ build }: { readonly build: Build }): ReactElement {
  const [other, setOther] = useParam('with')
  const { data, error, isPending, refetch } = useQuery(buildQueries.comparison(build.id, other))
  const isWithoutGreen = other === undefined && isFault(error) && error.code === 'not-found'
  return (
    <section className={styles['compare']} aria-label="Compare">
      <OtherBuild key={other} build={build} isChosen={other !== undefined} onChoose={setOther} />
      {isPending && <Loading rows={6} what="the comparison" />}
      {error !== null &&
        (isWithoutGreen ? (
          <Empty>No earlier build of this branch succeeded. Name another build to compare with.</Empty>
        ) : (
          <Problem error={error} onRetry={() => void refetch()} />
        ))}
      {error === null && data !== undefined && <Differences comparison={data} />}
      <Command text={sh`windlass diff builds ${build.id} ${other === undefined ? [] : [other]}`} />
    </section>
  )
}

interface OtherBuildProps {
  readonly build: Build
  readonly isChosen: boolean
  readonly onChoose: (id: string | undefined) => void
}

/** Asks for the number of another build. */
function OtherBuild({ build, isChosen, onChoose }: OtherBuildProps): ReactElement {
  const [text, setText] = useState('')
  const [wrong, setWrong] = useState<string>()
  const find = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    const number = Number(text.trim().replace(/^#/, ''))
    if (!Number.isInteger(number) || number < 1) return setWrong('Write the number of a build, such as 812.')
    if (number === build.number) return setWrong('This is the build itself.')
    try {
      const { items } = await client.builds.list({ query: { number, limit: 1 } })
      if (items[0] === undefined) setWrong(`There is no build #${number} that you may see.`)
      else onChoose(items[0].id)
    } catch (error) {
      setWrong(error instanceof Error ? error.message : String(error))
    }
  }
  return (
    <form className={styles['other']} onSubmit={(event) => void find(event)}>
      <Field
        label="Compare with build"
        placeholder="Number"
        inputMode="numeric"
        maxLength={12}
        value={text}
        error={wrong}
        onChange={({ target }) => {
          setText(target.value)
          setWrong(undefined)
        }}
      />
      <Button type="submit">Compare</Button>
      {isChosen && (
        <Button tone="quiet" onClick={() => onChoose(undefined)}>
          Compare with the last successful build
        </Button>
      )}
    </form>
  )
}

function Differences({ comparison }: { readonly comparison: BuildComparison }): ReactElement {
  const { before, after, isSame, commit, document, variables, images, runtime, steps } = comparison
  const changed = steps.filter((step) => step.before?.status !== step.after?.status || isLonger(step.before?.ms, step.after?.ms))
  return (
    <>
      <dl className={styles['sides']}>
        <Side name="Before" build={before} />
        <Side name="After" build={after} />
      </dl>
      {isSame && <p role="status">Nothing differs: commit, document, variables, images and runtime are the same.</p>}
      {commit !== undefined && (
        <Part title="Commit">
          <BeforeAfter change={commit} show={(one) => [one.revision?.slice(0, 8), one.branch, one.message, one.author]} />
        </Part>
      )}
      {runtime !== undefined && (
        <Part title="Runtime">
          <BeforeAfter
            change={runtime}
            show={({ name, version }) => [name, version === undefined ? undefined : `version ${version}`]}
          />
        </Part>
      )}
      {variables.length > 0 && (
        <Part title={`Variables ${variables.length}`}>
          <Table
            caption="Variables that differ"
            rows={variables}
            keyOf={({ name }) => name}
            columns={[
              { head: 'Name', cell: ({ name }) => <bdi className="mono">{name}</bdi> },
              { head: 'Before', cell: (row) => <Value of={row.before} /> },
              { head: 'After', cell: (row) => <Value of={row.after} /> },
            ]}
          />
        </Part>
      )}
      {images.length > 0 && (
        <Part title={`Images ${images.length}`}>
          <Table
            caption="Images that differ"
            rows={images}
            keyOf={({ step }) => step}
            columns={[
              { head: 'Step', cell: ({ step }) => <bdi>{step}</bdi> },
              { head: 'Before', cell: (row) => <ImageName of={row.before} /> },
              { head: 'After', cell: (row) => <ImageName of={row.after} /> },
            ]}
          />
        </Part>
      )}
      {document !== undefined && (
        <Part title="Document">
          <Diff label="Difference of the documents" before={document.before ?? ''} after={document.after ?? ''} />
        </Part>
      )}
      <Part title="Steps">
        <>
          {changed.length === 0 ? (
            <p>No step ended differently or took clearly longer.</p>
          ) : (
            <StepsTable caption="Steps that differ" steps={changed} />
          )}
          {changed.length < steps.length && (
            <details className={styles['all']}>
              <summary>All {steps.length} steps</summary>
              <StepsTable caption="All steps" steps={steps} />
            </details>
          )}
        </>
      </Part>
    </>
  )
}

function StepsTable({ caption, steps }: { readonly caption: string; readonly steps: readonly Change[] }): ReactElement {
  return (
    <Table
      caption={caption}
      rows={steps}
      keyOf={({ name }) => name}
      columns={[
        { head: 'Step', cell: ({ name }) => <bdi>{name}</bdi> },
        { head: 'Before', cell: (row) => stepText(row.before) },
        { head: 'After', cell: (row) => stepText(row.after) },
        { head: 'Difference', cell: differenceOf },
      ]}
    />
  )
}

function Side({ name, build }: { readonly name: string; readonly build: Build }): ReactElement {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <StatusMark look={lookOfBuild(build)} beside />
        <Link href={paths.build(build.id)}>#{build.number}</Link>
        <bdi>{sentenceOf(build)}</bdi>
      </dd>
    </div>
  )
}

function Part({ title, children }: { readonly title: string; readonly children: ReactElement }): ReactElement {
  return (
    <section className={styles['part']} aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  )
}

interface BeforeAfterProps<T> {
  readonly change: { readonly before?: T | undefined; readonly after?: T | undefined }
  readonly show: (one: T) => readonly (string | undefined)[]
}

function BeforeAfter<T>({ change: { before, after }, show }: BeforeAfterProps<T>): ReactElement {
  const text = (one: T | undefined): string =>
    one === undefined
      ? 'none'
      : show(one)
          .filter((part) => part !== undefined)
          .join(' · ')
  return (
    <dl className={styles['sides']}>
      <div>
        <dt>Before</dt>
        <dd>
          <bdi>{text(before)}</bdi>
        </dd>
      </div>
      <div>
        <dt>After</dt>
        <dd>
          <bdi>{text(after)}</bdi>
        </dd>
      </div>
    </dl>
  )
}

function Value({ of }: { readonly of: BuildComparison['variables'][number]['after'] }): ReactElement {
  if (of === undefined) return <span className="quiet">none</span>
  return (
    <>
      <bdi className="mono">{of.isSecret ? '•••••' : (of.value ?? '')}</bdi> <span className="quiet">{of.level}</span>
    </>
  )
}

function ImageName({ of }: { readonly of: BuildComparison['images'][number]['after'] }): ReactElement {
  if (of === undefined) return <span className="quiet">none</span>
  return (
    <>
      <bdi className="mono">{of.name}</bdi>{' '}
      {of.digest !== undefined && <bdi className={`mono ${styles['digest'] ?? ''}`}>{of.digest.slice(0, 19)}</bdi>}
    </>
  )
}

function stepText(step: Change['after']): string {
  if (step === undefined) return 'not in this build'
  return step.ms === undefined ? step.status : `${step.status}, ${formatClock(step.ms)}`
}

function differenceOf({ before, after }: Change): string {
  if (before?.ms === undefined || after?.ms === undefined) return ''
  const ms = after.ms - before.ms
  return ms === 0 ? '' : `${ms < 0 ? '−' : '+'}${formatClock(Math.abs(ms))}`
}
