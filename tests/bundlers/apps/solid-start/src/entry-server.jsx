import { createHandler, StartServer } from "@solidjs/start/server";

const document = ({ assets, children, scripts }) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <title>A feed in SolidStart</title>
      <link rel="icon" href="data:," />
      {assets}
    </head>
    <body>
      <div id="app">{children}</div>
      {scripts}
    </body>
  </html>
);

export default createHandler(() => <StartServer document={document} />);
