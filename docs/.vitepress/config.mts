/** The documentation as a site: `npx --yes vitepress@1.6.4 build docs`. Pages are plain Markdown and read well without it. */

const page = (text: string, link: string) => ({ text, link });

export default {
  title: 'callsync',
  description: 'Call records in your warehouse, and the proof that they are complete',
  cleanUrls: true,
  // Links to files of the repository, which a site does not have.
  ignoreDeadLinks: [/\.\.\//, /datacontract/],
  themeConfig: {
    search: { provider: 'local' },
    sidebar: [
      {
        text: 'First steps',
        items: [
          page('Quickstart', '/quickstart'),
          page('How it works', '/how-it-works'),
          page('Comparison', '/comparison'),
          page('Questions', '/faq'),
        ],
      },
      {
        text: 'Operate',
        items: [
          page('Operating', '/operating'),
          page('Status page, metrics, alerts', '/status-page'),
          page('Restores and losses', '/operations'),
          page('Notifications', '/notifications'),
          page('Scheduled backfills', '/backfills'),
          page('Security', '/security'),
          page('Personal data', '/privacy'),
        ],
      },
      {
        text: 'Analyse',
        items: [
          page('Tables', '/tables'),
          page('Marts', '/marts'),
          page('Cookbook', '/cookbook'),
          page('Searching', '/search'),
          page('Assistants', '/assistants'),
          page('BigQuery', '/bigquery'),
        ],
      },
      {
        text: 'Look up',
        items: [
          page('Configuration', '/config'),
          page('Troubleshooting', '/troubleshooting'),
          page('Architecture', '/architecture'),
          page('Packages', '/packages'),
          page('What was not run', '/not-run'),
        ],
      },
    ],
  },
};
