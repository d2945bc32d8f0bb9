/** The images of an application, each with its commit, pull request, issues and build, as far as they were reported. */
import { useQuery } from '@tanstack/react-query'
import type { ImageReport } from '@windlass/protocol'
import { Fragment, type ReactElement } from 'react'
import { Link } from 'wouter'
import layout from '../../parts/layout.module.css'
import { paths } from '../../url/paths.ts'
import styles from '../delivery.module.css'
import { deliveryQueries } from '../queries.ts'
import { shortRevision } from '../sources.ts'

export function Images({ id, images }: { readonly id: string; readonly images: readonly string[] }): ReactElement {
  const { data } = useQuery(deliveryQueries.images(id))
  const reports = new Map(data?.map(({ image, report }) => [image, report]))
  return (
    <ul className={styles['images']} aria-label="Images">
      {images.map((image) => {
        const report = reports.get(image)
        return (
          <li key={image}>
            <code>{image}</code>
            {report !== undefined && <Origin report={report} />}
          </li>
        )
      })}
    </ul>
  )
}

/** Where an image comes from, in one line. */
function Origin({ report: { git, issues = [], build, workflow } }: { readonly report: ImageReport }): ReactElement {
  const { commit, message, url, branch, pull } = git ?? {}
  const facts = [
    commit !== undefined && (
      <>
        commit <Away url={url} text={shortRevision(commit)} />
        <After text={message} />
      </>
    ),
    branch !== undefined && (
      <>
        of <bdi>{branch}</bdi>
      </>
    ),
    pull !== undefined && (
      <>
        pull request <Away url={pull.url} text={`#${pull.number}`} />
      </>
    ),
    ...issues.map(({ key, url: page, title }) => (
      <Fragment key={key}>
        <Away url={page} text={key} />
        <After text={title} />
      </Fragment>
    )),
    build === undefined ? (
      <Away url={workflow.url} text={workflow.name} />
    ) : (
      <Link href={paths.build(build)}>
        <bdi>{workflow.name}</bdi>
      </Link>
    ),
  ].filter((fact) => fact !== false)
  return (
    <p className={layout['note']}>
      {facts.map((fact, index) => (
        // The facts of a report have an order and no names.
        <Fragment key={index}>
          {index > 0 && ', '}
          {fact}
        </Fragment>
      ))}
    </p>
  )
}

/** A text behind a link, if there is one. */
function After({ text }: { readonly text: string | undefined }): ReactElement | null {
  if (text === undefined) return null
  return (
    <>
      {' '}
      <bdi>{text}</bdi>
    </>
  )
}

/** A link to another site; text if it is not known where. */
function Away({ url, text }: { readonly url: string | undefined; readonly text: string }): ReactElement {
  if (url === undefined) return <bdi>{text}</bdi>
  return (
    <a href={url} target="_blank" rel="noreferrer">
      <bdi>{text}</bdi>
    </a>
  )
}
